//! Binary operators: arithmetic, comparison, bits.
//!
//! Integers stay integers and must not overflow; if one operand is a double both become doubles,
//! except for bit operators and remainders, which always work on integers.

use super::datum::Datum;

/// An operator that needs both its operands. `>` and `>=` are `<` and `<=` with the operands
/// swapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

impl Operator {
    fn is_for_integers(self) -> bool {
        matches!(
            self,
            Self::Modulo
                | Self::BitAnd
                | Self::BitOr
                | Self::BitXor
                | Self::ShiftLeft
                | Self::ShiftRight
        )
    }
}

/// The operator's result; NULL when an operand is.
pub(super) fn apply(operator: Operator, left: Datum, right: Datum) -> Result<Datum, String> {
    match (left, right) {
        (Datum::Int(left), Datum::Int(right)) => integers(operator, left, right),
        (Datum::Null, _) | (_, Datum::Null) => Ok(Datum::Null),
        (Datum::Double(_), _) | (_, Datum::Double(_)) if !operator.is_for_integers() => {
            Ok(doubles(operator, left.double()?, right.double()?))
        }
        _ => integers(operator, left.int()?, right.int()?),
    }
}

fn integers(operator: Operator, left: i64, right: i64) -> Result<Datum, String> {
    let number = match operator {
        Operator::Equal => return Ok(Datum::Bool(left == right)),
        Operator::NotEqual => return Ok(Datum::Bool(left != right)),
        Operator::Less => return Ok(Datum::Bool(left < right)),
        Operator::LessOrEqual => return Ok(Datum::Bool(left <= right)),
        Operator::Divide | Operator::Modulo if right == 0 => return Err("division by zero".into()),
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Divide => left.checked_div(right),
        Operator::Modulo => Some(left.wrapping_rem(right)),
        Operator::BitAnd => Some(left & right),
        Operator::BitOr => Some(left | right),
        Operator::BitXor => Some(left ^ right),
        // Shifts count modulo 64, as on the processors that pgbench runs on.
        Operator::ShiftLeft => Some(left.wrapping_shl(right as u32)),
        Operator::ShiftRight => Some(left.wrapping_shr(right as u32)),
    };
    number.map(Datum::Int).ok_or_else(|| overflow(operator, left, right))
}

fn overflow(operator: Operator, left: i64, right: i64) -> String {
    let verb = match operator {
        Operator::Add => "plus",
        Operator::Subtract => "minus",
        Operator::Multiply => "times",
        _ => "divided by",
    };
    format!("{left} {verb} {right} does not fit in 64 bits")
}

fn doubles(operator: Operator, left: f64, right: f64) -> Datum {
    #[expect(clippy::float_cmp, reason = "the script asks for this very comparison")]
    match operator {
        Operator::Add => Datum::Double(left + right),
        Operator::Subtract => Datum::Double(left - right),
        Operator::Multiply => Datum::Double(left * right),
        Operator::Divide => Datum::Double(left / right),
        Operator::Equal => Datum::Bool(left == right),
        Operator::NotEqual => Datum::Bool(left != right),
        Operator::Less => Datum::Bool(left < right),
        Operator::LessOrEqual => Datum::Bool(left <= right),
        _ => unreachable!("operators for integers are not applied to doubles"),
    }
}
