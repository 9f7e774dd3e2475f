//! Executes a prepared statement for many rows at once: each parameter is an array.

use super::handle::{Diagnostic, Handle};
use super::parameters::{Place, TypePair};
use super::session::Session;
use super::statement::Statement;
use super::vendor::Integers;
use dbdyno_model::{ColumnType, Keep, ServerError};
use dbdyno_sql::{Dialect, positional};
use std::ffi::c_void;
use std::ptr::without_provenance_mut;

const ATTRIBUTE_STATUS: i32 = 20;
const ATTRIBUTE_ROWS: i32 = 22;
const ROW_FAILED: u16 = 5;
const NULL_LENGTH: isize = -1;
const TIMESTAMP_DIGITS: i16 = 6;

/// Rows waiting to be sent.
#[derive(Debug)]
pub(crate) struct Batch {
    statement: Statement,
    columns: Vec<Column>,
    /// The outcome of each row, written by the driver.
    statuses: Vec<u16>,
}

/// One parameter of all rows.
#[derive(Debug)]
struct Column {
    types: TypePair,
    /// Digits after the point, of a decimal or of seconds.
    digits: i16,
    numbers: Vec<i64>,
    /// The texts as they were added, one after the other.
    texts: Vec<u16>,
    /// The same texts, each in as much space as the longest one.
    table: Vec<u16>,
    lengths: Vec<isize>,
}

impl Batch {
    pub(crate) fn new(
        session: &Session,
        sql: &str,
        kinds: impl Iterator<Item = ColumnType>,
    ) -> Result<Self, ServerError> {
        let prepared = session.new_statement().and_then(|statement| {
            statement.prepare(&positional(sql, Dialect::Standard).sql)?;
            Ok(statement)
        });
        let statement = prepared.map_err(|error| session.server_error(error))?;
        let integers = session.integers();
        let columns = kinds.map(|kind| Column::new(kind, integers)).collect();
        Ok(Self { statement, columns, statuses: Vec::new() })
    }

    pub(crate) fn null(&mut self, column: usize) {
        let column = &mut self.columns[column];
        column.lengths.push(NULL_LENGTH);
        column.numbers.push(0);
    }

    pub(crate) fn number(&mut self, column: usize, number: i64) {
        let column = &mut self.columns[column];
        if column.types == TypePair::INTEGER {
            column.numbers.push(number);
            column.lengths.push(0);
        } else {
            column.text(&number.to_string());
        }
    }

    pub(crate) fn text(&mut self, column: usize, text: &str) {
        self.columns[column].text(text);
    }

    /// Sends this many rows.
    pub(crate) fn send(&mut self, session: &Session, rows: usize) -> Result<(), ServerError> {
        let sent = self.execute(rows);
        self.columns.iter_mut().for_each(Column::clear);
        sent.map_err(|error| session.server_error(error))
    }

    fn execute(&mut self, rows: usize) -> Result<(), Diagnostic> {
        let Self { statement: Statement(handle), columns, statuses } = self;
        statuses.clear();
        statuses.resize(rows, 0);
        set(handle, ATTRIBUTE_STATUS, statuses.as_mut_ptr().cast())?;
        set(handle, ATTRIBUTE_ROWS, without_provenance_mut(rows))?;
        for (place, column) in columns.iter_mut().enumerate() {
            // SAFETY: the arrays stay in place until the rows have been sent.
            unsafe { column.place(place as u16 + 1, rows).bind(handle)? };
        }
        self.statement.execute()?;
        self.statement.answer(Keep::None)?;
        match self.statuses.iter().position(|&status| status == ROW_FAILED) {
            Some(row) => Err(Diagnostic::internal(format!("row {row} of a batch was refused"))),
            None => Ok(()),
        }
    }
}

fn types_of(kind: ColumnType, integers: Integers) -> TypePair {
    match (kind, integers) {
        (ColumnType::Int4 | ColumnType::Int8 | ColumnType::Boolean, Integers::Binary) => {
            TypePair::INTEGER
        }
        (ColumnType::Int4 | ColumnType::Int8 | ColumnType::Boolean, Integers::Decimal)
        | (ColumnType::Decimal { .. }, _) => TypePair::DECIMAL,
        (ColumnType::Text | ColumnType::Json, _) => TypePair::TEXT,
        (ColumnType::Date, _) => TypePair::DATE,
        (ColumnType::Timestamp, _) => TypePair::TIMESTAMP,
    }
}

impl Column {
    fn new(kind: ColumnType, integers: Integers) -> Self {
        let digits = match kind {
            ColumnType::Timestamp => TIMESTAMP_DIGITS,
            ColumnType::Decimal { scale } => scale.into(),
            _ => 0,
        };
        let (types, numbers) = (types_of(kind, integers), Vec::new());
        let (texts, table) = (Vec::new(), Vec::new());
        Self { types, digits, numbers, texts, table, lengths: Vec::new() }
    }

    fn text(&mut self, text: &str) {
        let before = self.texts.len();
        self.texts.extend(text.encode_utf16());
        self.lengths.push(((self.texts.len() - before) * 2) as isize);
    }

    fn clear(&mut self) {
        self.numbers.clear();
        self.texts.clear();
        self.lengths.clear();
    }

    /// The first row's value; the others follow it.
    fn place(&mut self, number: u16, rows: usize) -> Place {
        let units = if self.types == TypePair::INTEGER { 4 } else { self.lay_out(rows) };
        let value: *mut c_void = match self.types {
            TypePair::INTEGER => self.numbers.as_mut_ptr().cast(),
            _ => self.table.as_mut_ptr().cast(),
        };
        let size = if self.types == TypePair::INTEGER { 19 } else { units };
        let (bytes, lengths) = ((units * 2) as isize, self.lengths.as_mut_ptr());
        Place { number, types: self.types, size, digits: self.digits, value, bytes, lengths }
    }

    /// Gives each text the space of the longest one, and returns that length.
    fn lay_out(&mut self, rows: usize) -> usize {
        let units = |length: isize| length.max(0) as usize / 2;
        let room = self.lengths.iter().map(|&length| units(length)).max().unwrap_or(0).max(1);
        self.table.clear();
        self.table.resize(room * rows, 0);
        let mut rest = &self.texts[..];
        for (&length, place) in self.lengths.iter().zip(self.table.chunks_mut(room)) {
            let (text, after) = rest.split_at(units(length));
            place[..text.len()].copy_from_slice(text);
            rest = after;
        }
        room
    }
}

/// Sets an attribute of a statement: a number passed in the pointer, or where the driver may write.
fn set(statement: &Handle, attribute: i32, value: *mut c_void) -> Result<(), Diagnostic> {
    // SAFETY: what is pointed to lives as long as the batch, and has an element for each row.
    let code = unsafe { (statement.library.SQLSetStmtAttrW)(statement.raw, attribute, value, 0) };
    statement.check(code).map(drop)
}
