//! Generates the rows of a table. A row's values depend only on the seed and the row's number.
//!
//! How a value is encoded depends on the load method: see [`Cells`].

use super::values::{RowNumber, Value, Values, longest};
use dbdyno_model::{ColumnType, LoadColumn, LoadTable};
use std::ops::Range;

/// Receives the values of one row, in column order.
pub(super) trait Cells {
    fn null(&mut self);
    /// For encodings in which the width of an integer makes no difference, such as text.
    fn int4(&mut self, number: i32) {
        self.int8(number.into());
    }
    fn int8(&mut self, number: i64);
    /// For databases in which this is a number.
    fn boolean(&mut self, truth: bool) {
        self.int8(truth.into());
    }
    /// An exact number, in units of its last digit.
    fn decimal(&mut self, units: i64, scale: u8);
    fn text(&mut self, text: &str);
    /// For databases that are sent documents as texts.
    fn json(&mut self, text: &str) {
        self.text(text);
    }
    /// Days since the start of the year 2000.
    fn date(&mut self, days: i64);
    /// Microseconds since the start of the year 2000.
    fn timestamp(&mut self, micros: i64);
}

/// Generates rows of one table.
pub(super) struct RowMaker<'a> {
    values: Values,
    table: &'a LoadTable,
}

impl<'a> RowMaker<'a> {
    pub(super) fn new(seed: u64, place: u64, table: &'a LoadTable) -> Self {
        Self { values: Values::of_table(seed, place), table }
    }

    /// Approximate size of an encoded row, at most.
    pub(super) fn row_bytes(&self) -> usize {
        let columns = &self.table.columns;
        2 + columns.iter().map(|column| 4 + longest(&column.generator)).sum::<usize>()
    }

    /// Rows of one number, on average.
    pub(super) fn rows_per_number(&self) -> usize {
        (self.table.rows_total / self.table.rows.max(1)).max(1) as usize
    }

    /// Number of columns of a row.
    pub(super) fn columns(&self) -> u16 {
        self.table.columns.len() as u16
    }

    /// Calls `write` for each row of these numbers; returns how many that are.
    pub(super) fn each(&self, numbers: Range<u64>, mut write: impl FnMut(RowNumber)) -> u64 {
        let mut count = 0;
        for number in numbers {
            let ancestor = RowNumber::new(number);
            for child in 0..self.children(1, ancestor) {
                let parent = ancestor.with(1, child);
                let children = self.children(2, parent);
                count += children;
                (0..children).for_each(|child| write(parent.with(2, child)));
            }
        }
        count
    }

    /// How many children a row has at this level: where the table has no such level, itself alone.
    fn children(&self, level: u8, parent: RowNumber) -> u64 {
        match self.table.per.get(usize::from(level) - 1) {
            Some(law) => self.values.count(level, law, parent),
            None => 1,
        }
    }

    /// Writes a row.
    pub(super) fn write(&self, row: RowNumber, out: &mut impl Cells) {
        for (place, column) in self.table.columns.iter().enumerate() {
            write_value(column, self.values.of(place as u64, &column.generator, row), out);
        }
    }
}

fn write_value(column: &LoadColumn, value: Value<'_>, out: &mut impl Cells) {
    match (value, column.kind) {
        (Value::Null, _) => out.null(),
        (Value::Text(text), ColumnType::Json) => out.json(&text),
        (Value::Text(text), _) => out.text(&text),
        (Value::Number(number), kind) => match kind {
            ColumnType::Int4 => out.int4(number as i32),
            ColumnType::Int8 => out.int8(number),
            ColumnType::Boolean => out.boolean(number != 0),
            ColumnType::Decimal { scale } => out.decimal(number, scale),
            ColumnType::Date => out.date(number),
            ColumnType::Timestamp => out.timestamp(number),
            ColumnType::Text => out.text(&number.to_string()),
            ColumnType::Json => out.json(&number.to_string()),
        },
    }
}
