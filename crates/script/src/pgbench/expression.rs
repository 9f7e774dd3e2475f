//! Expressions as trees, and their evaluation.
//!
//! `and`, `or` and `case` evaluate only what they need. Everything else evaluates all its operands
//! first and is NULL when one of them is. Random numbers come from the transaction's stream.

use super::datum::Datum;
use super::functions::{ARGUMENTS_MAX, Function};
use super::names::Slot;
use super::operators::{self, Operator};
use super::scope::Scope;

/// An expression, with variables resolved to slots.
#[derive(Debug, PartialEq)]
pub(super) enum Expression {
    Constant(Datum),
    Variable(Slot),
    Not(Box<Self>),
    And(Box<[Self; 2]>),
    Or(Box<[Self; 2]>),
    /// `is null`, `is true`, `is false`; false for a value of another type.
    Is(Box<Self>, Datum),
    Binary(Operator, Box<[Self; 2]>),
    /// Conditions with their results, and the result when none is true.
    Case(Vec<(Self, Self)>, Box<Self>),
    Call(Function, Vec<Self>),
}

impl Expression {
    /// The value, or an error message.
    pub(super) fn evaluate(&self, scope: &mut Scope<'_>) -> Result<Datum, String> {
        match self {
            Self::Constant(datum) => Ok(*datum),
            Self::Variable(slot) => scope.read(*slot),
            Self::Not(operand) => not(operand.evaluate(scope)?),
            Self::And(operands) => lazy(operands, false, scope),
            Self::Or(operands) => lazy(operands, true, scope),
            Self::Is(operand, datum) => Ok(Datum::Bool(operand.evaluate(scope)? == *datum)),
            Self::Binary(operator, operands) => {
                let left = operands[0].evaluate(scope)?;
                let right = operands[1].evaluate(scope)?;
                operators::apply(*operator, left, right)
            }
            Self::Case(branches, otherwise) => case(branches, otherwise, scope),
            Self::Call(function, arguments) => call(*function, arguments, scope),
        }
    }
}

fn not(operand: Datum) -> Result<Datum, String> {
    match operand {
        Datum::Null => Ok(Datum::Null),
        _ => Ok(Datum::Bool(!operand.bool()?)),
    }
}

/// `and` and `or`: the first operand alone decides when it is `decisive`.
fn lazy(
    operands: &[Expression; 2],
    decisive: bool,
    scope: &mut Scope<'_>,
) -> Result<Datum, String> {
    let left = operands[0].evaluate(scope)?;
    if left == Datum::Null || left.bool()? == decisive {
        return Ok(left);
    }
    match operands[1].evaluate(scope)? {
        Datum::Null => Ok(Datum::Null),
        right => right.bool().map(Datum::Bool),
    }
}

fn case(
    branches: &[(Expression, Expression)],
    otherwise: &Expression,
    scope: &mut Scope<'_>,
) -> Result<Datum, String> {
    for (condition, result) in branches {
        if condition.evaluate(scope)?.holds() {
            return result.evaluate(scope);
        }
    }
    otherwise.evaluate(scope)
}

/// Its values have no place in each level of an evaluation: a thread's stack is small.
#[inline(never)]
fn call(
    function: Function,
    arguments: &[Expression],
    scope: &mut Scope<'_>,
) -> Result<Datum, String> {
    let mut values = [Datum::Null; ARGUMENTS_MAX];
    let values = &mut values[..arguments.len()];
    for (value, argument) in values.iter_mut().zip(arguments) {
        *value = argument.evaluate(scope)?;
    }
    function.call(values, scope)
}
