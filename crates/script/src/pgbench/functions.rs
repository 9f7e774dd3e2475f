//! The functions of expressions: their names, their numbers of arguments, their results.
//!
//! A function is NULL when an argument is, except `debug`, which prints it.

use super::datum::Datum;
use super::operators::{self, Operator};
use super::scope::Scope;
use crate::dist::{self, Span};
use std::ops::RangeInclusive;

/// The maximum number of arguments.
pub(super) const ARGUMENTS_MAX: usize = 16;

/// A function; it may have several names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Modulo,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    SquareRoot,
}

/// A function's name and its number of arguments.
pub(super) struct Signature {
    pub(super) name: &'static str,
    pub(super) function: Function,
    pub(super) arguments: RangeInclusive<usize>,
    /// Whether the last argument may be left out and is then the variable `default_seed`.
    pub(super) is_seeded: bool,
}

const fn plain(name: &'static str, function: Function, arguments: usize) -> Signature {
    Signature { name, function, arguments: arguments..=arguments, is_seeded: false }
}

const fn any(name: &'static str, function: Function) -> Signature {
    Signature { name, function, arguments: 1..=ARGUMENTS_MAX, is_seeded: false }
}

const fn seeded(name: &'static str, function: Function, arguments: usize) -> Signature {
    Signature { name, function, arguments: arguments - 1..=arguments, is_seeded: true }
}

const SIGNATURES: [Signature; 21] = [
    plain("abs", Function::Abs, 1),
    plain("debug", Function::Debug, 1),
    plain("double", Function::Double, 1),
    plain("exp", Function::Exp, 1),
    any("greatest", Function::Greatest),
    seeded("hash", Function::HashMurmur2, 2),
    seeded("hash_fnv1a", Function::HashFnv1a, 2),
    seeded("hash_murmur2", Function::HashMurmur2, 2),
    plain("int", Function::Int, 1),
    any("least", Function::Least),
    plain("ln", Function::Ln, 1),
    plain("mod", Function::Modulo, 2),
    seeded("permute", Function::Permute, 3),
    plain("pi", Function::Pi, 0),
    plain("pow", Function::Power, 2),
    plain("power", Function::Power, 2),
    plain("random", Function::Random, 2),
    plain("random_exponential", Function::RandomExponential, 3),
    plain("random_gaussian", Function::RandomGaussian, 3),
    plain("random_zipfian", Function::RandomZipfian, 3),
    plain("sqrt", Function::SquareRoot, 1),
];

/// The function of that name, in upper or lower case.
pub(super) fn find(name: &str) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|signature| signature.name.eq_ignore_ascii_case(name))
}

impl Signature {
    /// The number of arguments it takes, in words.
    pub(super) fn wants(&self) -> String {
        let (least, most) = (*self.arguments.start(), *self.arguments.end());
        let plural = if most == 1 { "" } else { "s" };
        if least == most {
            format!("{} takes {most} argument{plural}", self.name)
        } else {
            format!("{} takes {least} to {most} arguments", self.name)
        }
    }
}

impl Function {
    /// The function's value for as many arguments as its signature allows.
    pub(super) fn call(self, arguments: &[Datum], scope: &mut Scope<'_>) -> Result<Datum, String> {
        if self == Self::Debug {
            let (script, command) = scope.place;
            let shown = arguments[0].described();
            (scope.print)(&format!("debug(script={script},command={}): {shown}", command + 1));
            return Ok(arguments[0]);
        }
        if arguments.contains(&Datum::Null) {
            return Ok(Datum::Null);
        }
        match (self, arguments) {
            (Self::Pi, _) => Ok(Datum::Double(std::f64::consts::PI)),
            (Self::Greatest | Self::Least, _) => self.extreme(arguments),
            (_, &[one]) => self.of_one(one),
            (Self::Random, &[low, high]) => {
                let span = Span::new(low.int()?, high.int()?)?;
                Ok(Datum::Int(dist::uniform(scope.chance, span)))
            }
            (_, &[first, second]) => self.of_two(first, second),
            (Self::Permute, &[number, size, seed]) => {
                dist::permute(number.int()?, size.int()?, seed.int()?).map(Datum::Int)
            }
            (_, &[low, high, parameter]) => self.draw(low, high, parameter, scope),
            _ => unreachable!("the signature was checked when the script was read"),
        }
    }

    fn of_one(self, argument: Datum) -> Result<Datum, String> {
        match (self, argument) {
            (Self::Int, _) => return argument.int().map(Datum::Int),
            // The smallest integer has no positive counterpart and stays as it is.
            (Self::Abs, Datum::Int(number)) => return Ok(Datum::Int(number.wrapping_abs())),
            _ => {}
        }
        let number = argument.double()?;
        Ok(Datum::Double(match self {
            Self::Abs => number.abs(),
            Self::Exp => number.exp(),
            Self::Ln => number.ln(),
            Self::SquareRoot => number.sqrt(),
            _ => number,
        }))
    }

    fn of_two(self, first: Datum, second: Datum) -> Result<Datum, String> {
        match self {
            Self::Power => Ok(Datum::Double(first.double()?.powf(second.double()?))),
            Self::HashFnv1a => Ok(Datum::Int(dist::fnv1a(first.int()?, second.int()?))),
            Self::HashMurmur2 => Ok(Datum::Int(dist::murmur2(first.int()?, second.int()?))),
            _ => operators::apply(Operator::Modulo, first, second),
        }
    }

    fn draw(
        self,
        low: Datum,
        high: Datum,
        parameter: Datum,
        scope: &mut Scope<'_>,
    ) -> Result<Datum, String> {
        let law = match self {
            Self::RandomExponential => dist::exponential,
            Self::RandomGaussian => dist::gaussian,
            _ => dist::zipfian,
        };
        let span = Span::new(low.int()?, high.int()?)?;
        law(scope.chance, span, parameter.double()?).map(Datum::Int)
    }

    /// The smallest or the largest; as doubles when one of them is a double.
    fn extreme(self, values: &[Datum]) -> Result<Datum, String> {
        if values.iter().any(|value| matches!(value, Datum::Double(_))) {
            let pick: fn(f64, f64) -> f64 = match self {
                Self::Least => |a, b| if a < b { a } else { b },
                _ => |a, b| if a > b { a } else { b },
            };
            return fold(values, Datum::double, pick).map(Datum::Double);
        }
        let pick = if self == Self::Least { Ord::min } else { Ord::max };
        fold(values, Datum::int, pick).map(Datum::Int)
    }
}

/// Combines all values, two at a time.
fn fold<T>(
    values: &[Datum],
    read: fn(Datum) -> Result<T, String>,
    pick: fn(T, T) -> T,
) -> Result<T, String> {
    let first = read(values[0])?;
    values[1..].iter().try_fold(first, |best, value| Ok(pick(best, read(*value)?)))
}
