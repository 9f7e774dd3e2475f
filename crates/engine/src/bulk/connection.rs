//! What a connection that fills tables can do, and the rows it is given.

use super::rows::RowMaker;
use dbdyno_model::{LoadTable, ServerError};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of one table that are loaded in one transaction.
pub(super) struct RowSource<'a> {
    pub(super) table: &'a LoadTable,
    pub(super) maker: RowMaker<'a>,
    /// Their numbers, or those of their ancestors.
    pub(super) numbers: Range<u64>,
    /// Counts the rows sent.
    pub(super) sent: &'a AtomicU64,
}

/// A connection that fills tables.
pub(super) trait LoadConnection {
    /// Runs a statement.
    fn run(&mut self, sql: &str) -> Result<(), ServerError>;

    /// Sends rows in the open transaction.
    fn send_rows(&mut self, source: &RowSource<'_>) -> Result<(), ServerError>;
}

impl RowSource<'_> {
    /// The numbers in ranges with about this many rows.
    pub(super) fn ranges(&self, rows: usize) -> impl Iterator<Item = Range<u64>> + use<> {
        let size = (rows / self.maker.rows_per_number()).max(1);
        let end = self.numbers.end;
        self.numbers.clone().step_by(size).map(move |first| first..end.min(first + size as u64))
    }

    /// Counts this many rows as sent.
    pub(super) fn count_sent(&self, rows: u64) {
        self.sent.fetch_add(rows, Ordering::Relaxed);
    }
}
