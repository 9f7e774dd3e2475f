//! The values of expressions: NULL, booleans, 64-bit integers and doubles.
//!
//! Text is not among them. A variable that holds text (from `-D` or from a row) is converted to one
//! of the four when an expression uses it, by the rules below.

use dbdyno_model::Value;
use dbdyno_model::write_double;
use std::fmt::Write;

/// A value inside an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Datum {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
}

impl Datum {
    fn kind(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
        }
    }

    fn refuse<T>(self, wanted: &str) -> Result<T, String> {
        Err(format!("cannot use {} as {wanted}: {self}", self.kind()))
    }

    /// Whether a condition with this value is true.
    pub(super) fn holds(self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(truth) => truth,
            Self::Int(number) => number != 0,
            Self::Double(number) => number != 0.0,
        }
    }

    /// The boolean; numbers are not converted to booleans.
    pub(super) fn bool(self) -> Result<bool, String> {
        match self {
            Self::Bool(truth) => Ok(truth),
            _ => self.refuse("boolean"),
        }
    }

    /// The integer, or the double rounded to the nearest integer, halves to even.
    #[inline]
    pub(super) fn int(self) -> Result<i64, String> {
        match self {
            Self::Int(number) => Ok(number),
            Self::Double(number) => rounded(number).map_or_else(|| self.refuse("int"), Ok),
            _ => self.refuse("int"),
        }
    }

    /// The number as a double.
    pub(super) fn double(self) -> Result<f64, String> {
        match self {
            Self::Int(number) => Ok(number as f64),
            Self::Double(number) => Ok(number),
            _ => self.refuse("double"),
        }
    }

    /// The line that `debug()` prints, without the position.
    pub(super) fn described(self) -> String {
        match self {
            Self::Null => "null".into(),
            _ => format!("{} {self}", self.kind()),
        }
    }

    /// A variable's value, converted for an expression.
    #[inline]
    pub(super) fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(Self::Null),
            Value::Bool(truth) => Ok(Self::Bool(*truth)),
            Value::Int(number) => Ok(Self::Int(*number)),
            Value::Double(number) => Ok(Self::Double(*number)),
            Value::Text(text) => Self::from_text(text),
        }
    }

    fn from_text(text: &str) -> Result<Self, String> {
        if let Some(datum) = keyword(text) {
            return Ok(datum);
        }
        let number = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
        if is_integer(number) {
            let parsed = number.parse().map(Self::Int);
            return parsed.map_err(|_| format!("the integer {text} does not fit in 64 bits"));
        }
        match number.parse::<f64>() {
            Ok(double) if double.is_infinite() && number.contains(|c: char| c.is_ascii_digit()) => {
                Err(format!("the number {text} does not fit in a double"))
            }
            Ok(double) => Ok(Self::Double(double)),
            Err(_) => Err(format!("the text \"{text}\" is neither a number nor a boolean")),
        }
    }
}

impl std::fmt::Display for Datum {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        write_value(&mut text, &Value::from(*self));
        out.write_str(&text)
    }
}

impl From<Datum> for Value {
    #[inline]
    fn from(datum: Datum) -> Self {
        match datum {
            Datum::Null => Self::Null,
            Datum::Bool(truth) => Self::Bool(truth),
            Datum::Int(number) => Self::Int(number),
            Datum::Double(number) => Self::Double(number),
        }
    }
}

/// Writes a value into SQL text as pgbench does; text is written unchanged.
pub(super) fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("NULL"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Int(number) => {
            // Writing to a String does not fail.
            let _ = write!(out, "{number}");
        }
        Value::Double(number) => write_double(out, *number),
        Value::Text(text) => out.push_str(text),
    }
}

/// External text as a value. Text that is the canonical form of an integer is stored as one, which
/// takes no memory and is sent in binary.
pub(super) fn value_from_text(text: &str) -> Value {
    match text.parse::<i64>() {
        Ok(number) if is_canonical(text) => Value::Int(number),
        _ => Value::Text(text.into()),
    }
}

fn is_canonical(integer: &str) -> bool {
    let digits = integer.strip_prefix('-').unwrap_or(integer);
    integer == "0" || digits.starts_with(|c: char| ('1'..='9').contains(&c))
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The nearest integer, if there is one in 64 bits.
fn rounded(number: f64) -> Option<i64> {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    let whole = number.round_ties_even();
    (-BOUND..BOUND).contains(&whole).then_some(whole as i64)
}

/// NULL and the booleans, which may be abbreviated as long as they are unambiguous.
fn keyword(text: &str) -> Option<Datum> {
    let shortens = |word: &str| {
        !text.is_empty()
            && word.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text))
    };
    if text.eq_ignore_ascii_case("null") {
        Some(Datum::Null)
    } else if shortens("true") || shortens("yes") || text.eq_ignore_ascii_case("on") {
        Some(Datum::Bool(true))
    } else if shortens("false") || shortens("no") || (text.len() > 1 && shortens("off")) {
        Some(Datum::Bool(false))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Datum, value_from_text};
    use dbdyno_model::Value;

    #[test]
    fn only_what_prints_the_same_becomes_an_integer() {
        for (text, integer) in [("0", Some(0)), ("42", Some(42)), ("-7", Some(-7))] {
            assert_eq!(value_from_text(text), Value::Int(integer.unwrap()));
        }
        for text in ["-0", "007", "+1", " 1", "1.0", "", "9223372036854775808", "-"] {
            assert_eq!(value_from_text(text), Value::Text(text.into()), "{text}");
        }
    }

    #[test]
    fn doubles_round_to_even_and_must_fit() {
        assert_eq!(Datum::Double(2.5).int(), Ok(2));
        assert_eq!(Datum::Double(-1.5).int(), Ok(-2));
        assert_eq!(Datum::Double(-9_223_372_036_854_775_808.0).int(), Ok(i64::MIN));
        assert!(Datum::Double(9_223_372_036_854_775_808.0).int().is_err());
        assert!(Datum::Double(f64::NAN).int().is_err());
    }
}
