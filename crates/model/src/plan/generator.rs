//! Where a column's values come from: laws as data, each a function of the seed and of the row.

use serde::{Deserialize, Serialize};

/// The law of one column's values.
///
/// A row has a number, which counts from 0 within its table, and in a table whose rows are
/// children of others, a number among the children of its parent: `level` 0 is the row's (or its
/// ancestor's) own number, 1 that of the child, 2 that of the grandchild.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum Generator {
    /// Always NULL.
    Null,
    /// `start + step * number`.
    Sequence {
        /// The first value.
        start: i64,
        /// The distance between values.
        step: i64,
        /// Whose number.
        level: u8,
    },
    /// `start + number / size`.
    Block {
        /// The first value.
        start: i64,
        /// Rows that share one value.
        size: u64,
    },
    /// `start + number / each % count`.
    Cycle {
        /// The first value.
        start: i64,
        /// The number of values.
        count: u64,
        /// Consecutive rows that share one value.
        each: u64,
    },
    /// `size` consecutive numbers each get another of `start`, `start + step` …, in random order.
    Permutation {
        /// The smallest value.
        start: i64,
        /// The distance between values.
        step: i64,
        /// The number of values.
        size: u64,
        /// Whose number; each parent has a permutation of its own.
        level: u8,
    },
    /// Uniform between the two, both included.
    Random {
        /// The smallest value.
        low: i64,
        /// The largest value.
        high: i64,
    },
    /// TPC's `NURand`: `((0..=a | low..=high) + c) % (high - low + 1) + low`.
    NonUniform {
        /// The range of the first number.
        a: u64,
        /// The constant that moves the frequent values.
        c: u64,
        /// The smallest value.
        low: i64,
        /// The largest value.
        high: i64,
    },
    /// The k-th value from `low` on has the weight `1 / k^exponent`.
    Zipf {
        /// The smallest and most frequent value.
        low: i64,
        /// The largest value.
        high: i64,
        /// The skew, not negative.
        exponent: f64,
    },
    /// Always this number.
    Number {
        /// The number.
        value: i64,
    },
    /// The sum of numbers.
    Sum {
        /// The numbers.
        of: Vec<Generator>,
    },
    /// The 64-bit FNV-1a hash of a number, without its sign.
    Hash {
        /// The number.
        of: Box<Generator>,
    },
    /// Always this text.
    Constant {
        /// The text.
        text: String,
    },
    /// This text, followed by `start + number`.
    Numbered {
        /// The text before the number.
        prefix: String,
        /// The first number.
        start: i64,
    },
    /// A number as text with at least so many digits, zeros before it.
    Padded {
        /// The number.
        of: Box<Generator>,
        /// The number of digits.
        width: u8,
    },
    /// A text with each `#` a random digit and each `@` a random lower-case letter.
    Template {
        /// The pattern.
        pattern: String,
    },
    /// Random text of random length.
    Text {
        /// The smallest length.
        shortest: u32,
        /// The largest length.
        longest: u32,
        /// The characters, of one byte each.
        symbols: String,
        /// What it contains at a random place, if it is not empty.
        containing: String,
    },
    /// TPC-C's last name of a number from 0 to 999: a syllable for each digit.
    LastName {
        /// The number.
        of: Box<Generator>,
    },
    /// Texts and numbers, one after the other.
    Joined {
        /// The parts.
        parts: Vec<Generator>,
    },
    /// A JSON object.
    Json {
        /// Its members.
        fields: Vec<Field>,
    },
    /// The same value wherever it stands: in another table for the same number, in another column.
    Shared {
        /// What identifies the draw.
        key: String,
        /// Whose value: descendants share it.
        level: u8,
        /// The law.
        of: Box<Generator>,
    },
    /// One law for the first rows of each so many, another for the rest.
    Split {
        /// Rows after which it begins again.
        each: u64,
        /// The number of first rows.
        first: u64,
        /// The law of the first rows.
        then: Box<Generator>,
        /// The law of the rest.
        otherwise: Box<Generator>,
    },
    /// One of several laws, chosen at random by weight.
    OneOf {
        /// The laws.
        choices: Vec<Choice>,
    },
}

/// A member of a JSON object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The law of its value.
    pub of: Generator,
}

/// One of several laws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Its share, among all weights.
    pub weight: u32,
    /// The law.
    pub of: Generator,
}
