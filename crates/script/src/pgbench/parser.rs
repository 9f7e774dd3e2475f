//! Parses tokens to expressions, by precedence climbing.
//!
//! Names of functions and their numbers of arguments are checked here. Variables become slots;
//! whether anything can set them is checked later, when all scripts have been read.

use super::datum::Datum;
use super::expression::Expression;
use super::functions::{self, ARGUMENTS_MAX, Signature};
use super::lexer::{Placed, Token, tokens};
use super::names::{Names, Slot};
use super::operators::Operator;
use super::source::Flaw;
use std::ops::Range;

/// Limit on nested brackets and on consecutive operators: evaluation is recursive, and a script
/// from an unknown source must not exhaust the stack.
const NESTING_MAX: usize = 100;
const OPERATORS_MAX: usize = 1000;

/// Precedence levels of operators, from lowest to highest.
mod level {
    pub(super) const ANYTHING: u8 = 0;
    pub(super) const OR: u8 = 1;
    pub(super) const AND: u8 = 2;
    pub(super) const NOT: u8 = 3;
    pub(super) const IS: u8 = 4;
    pub(super) const COMPARISON: u8 = 5;
    pub(super) const BITS: u8 = 6;
    pub(super) const SUM: u8 = 7;
    pub(super) const PRODUCT: u8 = 8;
    pub(super) const SIGN: u8 = 9;
}

/// What a symbol does with the expression on its left.
#[derive(Clone, Copy)]
enum Infix {
    Binary(Operator),
    /// The operator with its operands swapped.
    Reversed(Operator),
    And,
    Or,
    Is,
    IsNull,
    IsNotNull,
}

/// The symbol's meaning and precedence, if it is a binary operator.
fn infix(symbol: &str) -> Option<(Infix, u8)> {
    Some(match symbol {
        "or" => (Infix::Or, level::OR),
        "and" => (Infix::And, level::AND),
        "is" => (Infix::Is, level::IS),
        "isnull" => (Infix::IsNull, level::IS),
        "notnull" => (Infix::IsNotNull, level::IS),
        "<" => (Infix::Binary(Operator::Less), level::COMPARISON),
        "<=" => (Infix::Binary(Operator::LessOrEqual), level::COMPARISON),
        ">" => (Infix::Reversed(Operator::Less), level::COMPARISON),
        ">=" => (Infix::Reversed(Operator::LessOrEqual), level::COMPARISON),
        "=" => (Infix::Binary(Operator::Equal), level::COMPARISON),
        "<>" | "!=" => (Infix::Binary(Operator::NotEqual), level::COMPARISON),
        "&" => (Infix::Binary(Operator::BitAnd), level::BITS),
        "|" => (Infix::Binary(Operator::BitOr), level::BITS),
        "#" => (Infix::Binary(Operator::BitXor), level::BITS),
        "<<" => (Infix::Binary(Operator::ShiftLeft), level::BITS),
        ">>" => (Infix::Binary(Operator::ShiftRight), level::BITS),
        "+" => (Infix::Binary(Operator::Add), level::SUM),
        "-" => (Infix::Binary(Operator::Subtract), level::SUM),
        "*" => (Infix::Binary(Operator::Multiply), level::PRODUCT),
        "/" => (Infix::Binary(Operator::Divide), level::PRODUCT),
        "%" => (Infix::Binary(Operator::Modulo), level::PRODUCT),
        _ => return None,
    })
}

/// A variable in an expression, and its position.
pub(super) struct Mention {
    pub(super) slot: Slot,
    pub(super) span: Range<usize>,
}

/// Reads the expression in `span` of the text, and the variables it mentions.
pub(super) fn parse(
    text: &str,
    span: Range<usize>,
    names: &mut Names,
    mentions: &mut Vec<Mention>,
) -> Result<Expression, Flaw> {
    let tokens = tokens(text, span.clone())?;
    let end = text[..span.end].trim_end().len().max(span.start);
    let mut parser =
        Parser { tokens: &tokens, at: 0, end, nesting: 0, operators: 0, names, mentions };
    let expression = parser.expression(level::ANYTHING)?;
    match parser.tokens.get(parser.at) {
        None => Ok(expression),
        Some((_, span)) => Err(Flaw::new(span.clone(), "the expression should end before this")),
    }
}

struct Parser<'a> {
    tokens: &'a [Placed<'a>],
    at: usize,
    end: usize,
    nesting: usize,
    operators: usize,
    names: &'a mut Names,
    mentions: &'a mut Vec<Mention>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|(token, _)| *token)
    }

    /// The position of the next token, or the end.
    fn here(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(self.end..self.end, |(_, span)| span.clone())
    }

    fn flaw<T>(&self, message: impl Into<String>) -> Result<T, Flaw> {
        Err(Flaw::new(self.here(), message))
    }

    /// Consumes the symbol if it comes next.
    fn accept(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Symbol(next)) if next == symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), Flaw> {
        if self.accept(symbol) { Ok(()) } else { self.flaw(format!("{symbol} is expected here")) }
    }

    /// An expression of operators with a higher precedence than `above`.
    fn expression(&mut self, above: u8) -> Result<Expression, Flaw> {
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            return self.flaw("this expression is nested too deeply");
        }
        let mut left = self.operand()?;
        let mut is_comparison = false;
        while let Some((infix, level)) = self.infix(above) {
            if is_comparison && level == level::COMPARISON {
                return self.flaw("comparisons cannot be chained");
            }
            is_comparison = level == level::COMPARISON;
            self.operator()?;
            left = self.infixed(left, infix, level)?;
        }
        self.nesting -= 1;
        Ok(left)
    }

    /// The operator that comes next, if its precedence is higher.
    fn infix(&self, above: u8) -> Option<(Infix, u8)> {
        let Some(Token::Symbol(symbol)) = self.peek() else { return None };
        infix(symbol).filter(|&(_, level)| level > above)
    }

    /// Counts the operator that comes next, and consumes it.
    fn operator(&mut self) -> Result<(), Flaw> {
        self.operators += 1;
        if self.operators > OPERATORS_MAX {
            return self.flaw("this expression has too many operators");
        }
        self.at += 1;
        Ok(())
    }

    /// The expression of `left`, the operator just consumed and what follows.
    fn infixed(&mut self, left: Expression, infix: Infix, level: u8) -> Result<Expression, Flaw> {
        Ok(match infix {
            Infix::IsNull => is(left, Datum::Null, false),
            Infix::IsNotNull => is(left, Datum::Null, true),
            Infix::Is => self.is_what(left)?,
            Infix::And => Expression::And(Box::new([left, self.expression(level)?])),
            Infix::Or => Expression::Or(Box::new([left, self.expression(level)?])),
            Infix::Binary(operator) => binary(operator, left, self.expression(level)?),
            Infix::Reversed(operator) => binary(operator, self.expression(level)?, left),
        })
    }

    /// What follows `is`.
    fn is_what(&mut self, left: Expression) -> Result<Expression, Flaw> {
        let negated = self.accept("not");
        for (symbol, datum) in
            [("null", Datum::Null), ("true", Datum::Bool(true)), ("false", Datum::Bool(false))]
        {
            if self.accept(symbol) {
                return Ok(is(left, datum, negated));
            }
        }
        self.flaw("null, true or false is expected here")
    }

    /// An operand, with its prefix operators.
    fn operand(&mut self) -> Result<Expression, Flaw> {
        let Some(token) = self.peek() else { return self.flaw("an expression is expected here") };
        let constant = match token {
            Token::Integer(number) => Datum::Int(number),
            Token::Double(number) => Datum::Double(number),
            Token::IntegerBound => return self.flaw("this number is too large"),
            Token::Variable(name) => return Ok(self.variable(name)),
            Token::Word(name) => return self.call(name),
            Token::Symbol("null") => Datum::Null,
            Token::Symbol("true") => Datum::Bool(true),
            Token::Symbol("false") => Datum::Bool(false),
            Token::Symbol(symbol) => return self.opened(symbol),
        };
        self.at += 1;
        Ok(Expression::Constant(constant))
    }

    fn variable(&mut self, name: &str) -> Expression {
        let slot = self.names.slot(name);
        self.mentions.push(Mention { slot, span: self.here() });
        self.at += 1;
        Expression::Variable(slot)
    }

    /// An operand that begins with an operator, a bracket or `case`.
    fn opened(&mut self, symbol: &'static str) -> Result<Expression, Flaw> {
        match symbol {
            "(" => self.bracketed(),
            "case" => self.case(),
            "-" => self.negated(),
            "+" | "~" | "not" => self.prefixed(symbol),
            _ => self.flaw("an expression is expected here"),
        }
    }

    fn prefixed(&mut self, symbol: &'static str) -> Result<Expression, Flaw> {
        self.operator()?;
        Ok(match symbol {
            "+" => self.expression(level::SIGN)?,
            "~" => binary(Operator::BitXor, integer(-1), self.expression(level::BITS)?),
            _ => Expression::Not(Box::new(self.expression(level::NOT)?)),
        })
    }

    /// `-x` is `0 - x`, except that the smallest integer can be written only in this way.
    fn negated(&mut self) -> Result<Expression, Flaw> {
        self.operator()?;
        if self.peek() == Some(Token::IntegerBound) {
            self.at += 1;
            return Ok(integer(i64::MIN));
        }
        Ok(binary(Operator::Subtract, integer(0), self.expression(level::SIGN)?))
    }

    fn bracketed(&mut self) -> Result<Expression, Flaw> {
        self.at += 1;
        let inner = self.expression(level::ANYTHING)?;
        self.expect(")")?;
        Ok(inner)
    }

    fn case(&mut self) -> Result<Expression, Flaw> {
        self.at += 1;
        let mut branches = Vec::new();
        while branches.is_empty() || self.peek() == Some(Token::Symbol("when")) {
            self.expect("when")?;
            let condition = self.expression(level::ANYTHING)?;
            self.expect("then")?;
            branches.push((condition, self.expression(level::ANYTHING)?));
        }
        let otherwise = if self.accept("else") {
            self.expression(level::ANYTHING)?
        } else {
            Expression::Constant(Datum::Null)
        };
        self.expect("end")?;
        Ok(Expression::Case(branches, Box::new(otherwise)))
    }

    fn call(&mut self, name: &str) -> Result<Expression, Flaw> {
        let span = self.here();
        let Some(signature) = functions::find(name) else {
            return self.flaw("there is no function of this name");
        };
        self.at += 1;
        self.expect("(")?;
        let mut arguments = self.arguments()?;
        if !signature.arguments.contains(&arguments.len()) {
            return Err(Flaw::new(span, signature.wants()));
        }
        self.add_seed(signature, &mut arguments);
        Ok(Expression::Call(signature.function, arguments))
    }

    fn arguments(&mut self) -> Result<Vec<Expression>, Flaw> {
        let mut arguments = Vec::new();
        if self.accept(")") {
            return Ok(arguments);
        }
        loop {
            if arguments.len() == ARGUMENTS_MAX {
                return self.flaw(format!("no function takes more than {ARGUMENTS_MAX} arguments"));
            }
            arguments.push(self.expression(level::ANYTHING)?);
            if self.accept(")") {
                return Ok(arguments);
            }
            self.expect(",")?;
        }
    }

    fn add_seed(&mut self, signature: &Signature, arguments: &mut Vec<Expression>) {
        if signature.is_seeded && arguments.len() < *signature.arguments.end() {
            arguments.push(Expression::Variable(self.names.slot("default_seed")));
        }
    }
}

fn integer(number: i64) -> Expression {
    Expression::Constant(Datum::Int(number))
}

fn is(operand: Expression, datum: Datum, negated: bool) -> Expression {
    let is = Expression::Is(Box::new(operand), datum);
    if negated { Expression::Not(Box::new(is)) } else { is }
}

fn binary(operator: Operator, left: Expression, right: Expression) -> Expression {
    Expression::Binary(operator, Box::new([left, right]))
}
