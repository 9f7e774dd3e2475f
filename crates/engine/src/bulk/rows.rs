//! Generates the rows of a table. A row's values depend only on the seed and the row's number.
//!
//! How a value is encoded depends on the load method: see [`Cells`].

use dbdyno_model::{ColumnType, Generator, LoadColumn, Purpose, Stream, text_by_pattern};
use std::fmt::Write;

/// Receives the values of one row, in column order.
pub(super) trait Cells {
    fn null(&mut self);
    /// For encodings in which the width of an integer makes no difference, such as text.
    fn int4(&mut self, number: i32) {
        self.int8(number.into());
    }
    fn int8(&mut self, number: i64);
    fn text(&mut self, text: &str);
    /// Microseconds since the start of the year 2000.
    fn timestamp(&mut self, micros: i64);
}

/// Generates rows of one table.
pub(super) struct RowMaker<'a> {
    seed: u64,
    table: u64,
    columns: &'a [LoadColumn],
}

impl<'a> RowMaker<'a> {
    pub(super) fn new(seed: u64, table: u64, columns: &'a [LoadColumn]) -> Self {
        Self { seed, table, columns }
    }

    /// Approximate size of an encoded row.
    pub(super) fn row_bytes(&self) -> usize {
        let value = |column: &LoadColumn| match &column.generator {
            Generator::Constant { text } => text.len(),
            Generator::Template { pattern } => pattern.len(),
            Generator::Numbered { prefix, .. } => prefix.len() + 8,
            _ => 8,
        };
        2 + self.columns.iter().map(|column| 4 + value(column)).sum::<usize>()
    }

    /// Number of columns of a row.
    pub(super) fn columns(&self) -> u16 {
        self.columns.len() as u16
    }

    /// Writes row number `row`.
    pub(super) fn write(&self, row: u64, out: &mut impl Cells) {
        for (place, column) in self.columns.iter().enumerate() {
            self.value(row, place as u64, column, out);
        }
    }

    fn value(&self, row: u64, place: u64, column: &LoadColumn, out: &mut impl Cells) {
        let kind = column.kind;
        match &column.generator {
            Generator::Null => out.null(),
            Generator::Sequence { start } => number(kind, start + row as i64, out),
            Generator::Block { start, size } => number(kind, start + (row / size) as i64, out),
            Generator::Number { value } => number(kind, *value, out),
            Generator::Random { low, high } => {
                let drawn = self.chance(row, place).up_to(high.wrapping_sub(*low) as u64);
                number(kind, low.wrapping_add(drawn as i64), out);
            }
            Generator::Constant { text } => out.text(text),
            Generator::Numbered { prefix, start } => {
                let mut text = String::with_capacity(prefix.len() + 20);
                let _ = write!(text, "{prefix}{}", start + row as i64);
                out.text(&text);
            }
            Generator::Template { pattern } => {
                out.text(&text_by_pattern(pattern, &mut self.chance(row, place)));
            }
        }
    }

    fn chance(&self, row: u64, place: u64) -> Stream {
        Stream::keyed(self.seed, Purpose::Rows, self.table << 16 | place, row)
    }
}

fn number(kind: ColumnType, value: i64, out: &mut impl Cells) {
    match kind {
        ColumnType::Int4 => out.int4(value as i32),
        ColumnType::Int8 => out.int8(value),
        ColumnType::Timestamp => out.timestamp(value),
        ColumnType::Text => out.text(&value.to_string()),
    }
}
