//! Loads rows through ODBC, as parameter arrays of a prepared INSERT.

use super::connection::{LoadConnection, RowSource};
use super::rows::Cells;
use super::timestamp::{write_date, write_decimal, write_timestamp};
use crate::odbc::{Batch, Config, Session};
use dbdyno_model::ServerError;
use std::sync::Arc;

/// Rows per execution: more gain nothing, and some drivers hold all of them twice.
const ROWS_AT_ONCE: usize = 1_000;

/// Opens a session that fills tables.
pub(super) fn open(config: &Arc<Config>) -> Result<impl LoadConnection + use<>, ServerError> {
    Session::alone(config)
}

impl LoadConnection for Session {
    fn run(&mut self, sql: &str) -> Result<(), ServerError> {
        Session::run(self, sql)
    }

    fn send_rows(&mut self, source: &RowSource<'_>) -> Result<(), ServerError> {
        let kinds = source.table.columns.iter().map(|column| column.kind);
        let mut batch = Batch::new(self, &source.table.copy, kinds)?;
        for numbers in source.ranges(ROWS_AT_ONCE) {
            let rows = source.maker.each(numbers, |row| {
                source.maker.write(row, &mut Row { batch: &mut batch, column: 0 });
            });
            if rows > 0 {
                batch.send(self, rows as usize)?;
            }
            source.count_sent(rows);
        }
        Ok(())
    }
}

/// A row being written.
struct Row<'a> {
    batch: &'a mut Batch,
    column: usize,
}

impl Row<'_> {
    /// The column of the next value.
    fn next(&mut self) -> (&mut Batch, usize) {
        self.column += 1;
        (self.batch, self.column - 1)
    }

    /// Stores what `write` writes as text.
    fn written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut text = Vec::new();
        write(&mut text);
        self.text(&String::from_utf8_lossy(&text));
    }
}

impl Cells for Row<'_> {
    fn null(&mut self) {
        let (batch, column) = self.next();
        batch.null(column);
    }

    fn int8(&mut self, number: i64) {
        let (batch, column) = self.next();
        batch.number(column, number);
    }

    fn text(&mut self, text: &str) {
        let (batch, column) = self.next();
        batch.text(column, text);
    }

    fn decimal(&mut self, units: i64, scale: u8) {
        self.written(|out| write_decimal(out, units, scale));
    }

    fn date(&mut self, days: i64) {
        self.written(|out| write_date(out, days));
    }

    fn timestamp(&mut self, micros: i64) {
        self.written(|out| write_timestamp(out, micros));
    }
}
