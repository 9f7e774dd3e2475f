//! The value that a law gives a row. The same seed gives the same values on any number of
//! connections: a value depends on the seed, the row and where the law stands, and on nothing that
//! was drawn before.

use dbdyno_model::{Generator, Purpose, Stream, text_by_pattern};
use dbdyno_script::{Span, Zipf, fnv1a, last_name, non_uniform, permute, random_text};
use std::borrow::Cow;
use std::fmt::Write;

/// The place of the number of children in a table, behind its columns.
const PLACE_OF_COUNTS: u64 = 0xfff0;
/// Bytes of a number as text, at most about.
const NUMBER_BYTES: usize = 8;

/// A row: its own number, or its ancestor's, and its number among the children of its parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowNumber([u64; 3]);

impl RowNumber {
    pub(super) fn new(number: u64) -> Self {
        Self([number, 0, 0])
    }

    /// The same with this number at a level.
    pub(super) fn with(mut self, level: u8, number: u64) -> Self {
        self.0[usize::from(level)] = number;
        self
    }

    fn at(self, level: u8) -> u64 {
        self.0[usize::from(level).min(2)]
    }

    /// The ancestor at a level: numbers below it are 0.
    fn above(mut self, level: u8) -> Self {
        self.0.iter_mut().skip(usize::from(level) + 1).for_each(|number| *number = 0);
        self
    }
}

/// A value, before the column's type gives it a form.
#[derive(Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Number(i64),
    Text(Cow<'a, str>),
}

/// The values of one table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values {
    seed: u64,
    table: u64,
}

impl Values {
    pub(super) fn of_table(seed: u64, place: u64) -> Self {
        Self { seed, table: place << 16 }
    }

    /// The value of a row in the column at `place`.
    pub(super) fn of<'a>(&self, place: u64, law: &'a Generator, row: RowNumber) -> Value<'a> {
        Draw { seed: self.seed, who: self.table | place, row, stream: None }.value(law)
    }

    /// How many children a row has at a level.
    pub(super) fn count(&self, level: u8, law: &Generator, parent: RowNumber) -> u64 {
        match self.of(PLACE_OF_COUNTS | u64::from(level), law, parent) {
            Value::Number(count) => count.max(0) as u64,
            _ => 0,
        }
    }
}

/// The draw of one value. The stream begins when a law first needs chance.
struct Draw {
    seed: u64,
    /// Where the law stands: a table and a column, or what shares the draw.
    who: u64,
    row: RowNumber,
    stream: Option<Stream>,
}

impl Draw {
    fn value<'a>(&mut self, law: &'a Generator) -> Value<'a> {
        let number = self.row.at(0);
        match law {
            Generator::Null => Value::Null,
            Generator::Sequence { start, step, level } => {
                Value::Number(start + step * self.row.at(*level) as i64)
            }
            Generator::Block { start, size } => Value::Number(start + (number / size) as i64),
            Generator::Cycle { start, count, each } => {
                Value::Number(start + (number / each % count) as i64)
            }
            Generator::Permutation { start, step, size, level } => {
                Value::Number(start + step * self.permuted(*size, *level))
            }
            Generator::Random { low, high } => Value::Number(self.uniform(*low, *high)),
            Generator::NonUniform { a, c, low, high } => {
                Value::Number(non_uniform(self.chance(), *a, *c, *low, *high))
            }
            Generator::Zipf { low, high, exponent } => self.zipf(*low, *high, *exponent),
            Generator::Number { value } => Value::Number(*value),
            Generator::Sum { of } => self.sum(of),
            Generator::Hash { of } => match self.value(of) {
                Value::Number(number) => Value::Number(fnv1a(number, 0).wrapping_abs()),
                other => other,
            },
            Generator::Constant { text } => Value::Text(Cow::Borrowed(text)),
            Generator::Numbered { prefix, start } => {
                let mut text = String::with_capacity(prefix.len() + 20);
                let _ = write!(text, "{prefix}{}", start + number as i64);
                Value::Text(text.into())
            }
            Generator::Padded { of, width } => match self.value(of) {
                Value::Number(number) => {
                    Value::Text(format!("{number:0width$}", width = usize::from(*width)).into())
                }
                other => other,
            },
            Generator::Template { pattern } => {
                Value::Text(text_by_pattern(pattern, self.chance()).into())
            }
            Generator::Text { shortest, longest, symbols, containing } => {
                let length = self.uniform((*shortest).into(), (*longest).into()) as usize;
                let symbols = symbols.as_bytes();
                Value::Text(random_text(self.chance(), length, symbols, containing).into())
            }
            Generator::LastName { of } => match self.value(of) {
                Value::Number(number) => Value::Text(last_name(number).into()),
                other => other,
            },
            Generator::Joined { parts } => {
                let mut text = String::new();
                for part in parts {
                    let _ = match self.value(part) {
                        Value::Null => Ok(()),
                        Value::Number(number) => write!(text, "{number}"),
                        Value::Text(part) => text.write_str(&part),
                    };
                }
                Value::Text(text.into())
            }
            Generator::Json { fields } => {
                let mut text = String::from("{");
                for field in fields {
                    let separator = if text.len() == 1 { "" } else { ", " };
                    let _ = write!(text, "{separator}\"{}\": ", escaped(&field.name));
                    let _ = match self.value(&field.of) {
                        Value::Null => text.write_str("null"),
                        Value::Number(number) => write!(text, "{number}"),
                        Value::Text(member) => write!(text, "\"{}\"", escaped(&member)),
                    };
                }
                text.push('}');
                Value::Text(text.into())
            }
            Generator::Shared { key, level, of } => {
                let who = key.bytes().fold(0, |hash, byte| fnv1a(hash ^ i64::from(byte), 0));
                let row = self.row.above(*level);
                Draw { seed: self.seed, who: who as u64, row, stream: None }.value(of)
            }
            Generator::Split { each, first, then, otherwise } => {
                self.value(if number % each < *first { then } else { otherwise })
            }
            Generator::OneOf { choices } => {
                let total: u64 = choices.iter().map(|choice| u64::from(choice.weight)).sum();
                let mut drawn = self.chance().up_to(total.saturating_sub(1));
                for choice in choices {
                    match drawn.checked_sub(choice.weight.into()) {
                        Some(rest) => drawn = rest,
                        None => return self.value(&choice.of),
                    }
                }
                Value::Null
            }
        }
    }

    fn chance(&mut self) -> &mut Stream {
        let RowNumber([number, child, grandchild]) = self.row;
        let who = self.who ^ (child << 32) ^ (grandchild << 48);
        self.stream.get_or_insert_with(|| Stream::keyed(self.seed, Purpose::Rows, who, number))
    }

    fn uniform(&mut self, low: i64, high: i64) -> i64 {
        low.wrapping_add(self.chance().up_to(high.wrapping_sub(low) as u64) as i64)
    }

    fn zipf<'a>(&mut self, low: i64, high: i64, exponent: f64) -> Value<'a> {
        match (Zipf::new(exponent), Span::new(low, high)) {
            (Ok(law), Ok(span)) => Value::Number(law.draw(self.chance(), span)),
            _ => Value::Null,
        }
    }

    /// The row's place in the permutation of its block, or of its siblings.
    fn permuted(&mut self, size: u64, level: u8) -> i64 {
        let number = self.row.at(level);
        let row = match level {
            0 => RowNumber::new(number / size),
            _ => self.row.above(level - 1),
        };
        let mut own = Draw { seed: self.seed, who: self.who, row, stream: None };
        let key = own.chance().next_u64() as i64;
        permute((number % size) as i64, size as i64, key).unwrap_or(0)
    }

    fn sum<'a>(&mut self, of: &'a [Generator]) -> Value<'a> {
        let mut sum = 0;
        for part in of {
            match self.value(part) {
                Value::Number(number) => sum += number,
                _ => return Value::Null,
            }
        }
        Value::Number(sum)
    }
}

/// A text as JSON writes it between quotes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for symbol in text.chars() {
        match symbol {
            '"' | '\\' => out.extend(['\\', symbol]),
            _ if symbol < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(symbol));
            }
            _ => out.push(symbol),
        }
    }
    out
}

/// Approximate length of a law's longest value, in bytes.
pub(super) fn longest(law: &Generator) -> usize {
    match law {
        Generator::Constant { text } => text.len(),
        Generator::Template { pattern } => pattern.len(),
        Generator::Numbered { prefix, .. } => prefix.len() + NUMBER_BYTES,
        Generator::Padded { width, .. } => usize::from(*width),
        Generator::Text { longest, .. } => *longest as usize,
        Generator::LastName { .. } => 15,
        Generator::Joined { parts } => parts.iter().map(longest).sum(),
        Generator::Json { fields } => {
            fields.iter().map(|field| field.name.len() + 6 + longest(&field.of)).sum()
        }
        Generator::Shared { of, .. } => longest(of),
        Generator::Split { then, otherwise, .. } => longest(then).max(longest(otherwise)),
        Generator::OneOf { choices } => {
            choices.iter().map(|choice| longest(&choice.of)).max().unwrap_or(0)
        }
        _ => NUMBER_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::{RowNumber, Value, Values};
    use dbdyno_model::Generator;

    #[test]
    fn zeros_fill_a_number_to_its_width_and_no_digit_is_cut_off() {
        let values = Values::of_table(1, 0);
        let padded = |number| {
            let of = Box::new(Generator::Number { value: number });
            let law = Generator::Padded { of, width: 4 };
            match values.of(0, &law, RowNumber::new(0)) {
                Value::Text(text) => text.into_owned(),
                _ => String::new(),
            }
        };
        assert_eq!([7, 1234, 12345].map(padded), ["0007", "1234", "12345"]);
    }
}
