//! Collects the answer to one request: counts always, rows only when requested.
//!
//! Independent of the protocol: the caller interprets the messages, and decodes values only when
//! they are kept.

use crate::{MESSAGE_BYTES_MAX, ProtocolError};
use dbdyno_model::{FailureClass, Keep, Reply, ResultSet, RowWriter, Rows, ServerError};
use std::sync::Arc;

/// Limit on the memory of one answer's kept values.
pub const KEPT_BYTES_MAX: usize = MESSAGE_BYTES_MAX;

/// The answer to the request at the head of the queue, as far as it has been received.
#[derive(Debug, Default)]
pub(crate) struct ReplyBuilder {
    pub(crate) error: Option<ServerError>,
    results: Vec<ResultSet>,
    /// Names of the columns of the current result set.
    columns: Arc<[String]>,
    /// Rows of the current result set.
    rows: Rows,
    row_count: u64,
    rows_returned: u64,
    rows_affected: u64,
    rows_touched: u64,
    kept_bytes: usize,
    pub(crate) copied_bytes: u64,
    /// Whether the block that ended last was rolled back, as far as the server says.
    pub(crate) rolled_back: bool,
}

impl ReplyBuilder {
    /// Resets for the next request. There is mostly nothing to free, so this is checked first.
    #[inline]
    pub(crate) fn clear(&mut self) {
        (self.row_count, self.rows_returned) = (0, 0);
        (self.rows_affected, self.rows_touched) = (0, 0);
        (self.copied_bytes, self.rolled_back) = (0, false);
        if self.error.is_some() || !self.results.is_empty() || self.kept_bytes > 0 {
            *self = Self::default();
        }
    }

    pub(crate) fn reply(&self, in_transaction: bool) -> Reply<'_> {
        Reply {
            error: self.error.as_ref(),
            results: &self.results,
            rows_returned: self.rows_returned,
            rows_affected: self.rows_affected,
            rows_touched: self.rows_touched,
            in_transaction,
            rolled_back: self.rolled_back,
            copied_bytes: self.copied_bytes,
        }
    }

    /// Gives the kept results away: the reply has been read, or is read without them.
    #[inline]
    pub(crate) fn take_results(&mut self) -> Vec<ResultSet> {
        std::mem::take(&mut self.results)
    }

    /// The first error is the cause; later ones are ignored.
    pub(crate) fn fail(&mut self, error: ServerError) {
        self.error.get_or_insert(error);
    }

    /// Sets the columns of the current result set, for a request that keeps rows.
    pub(crate) fn set_columns(&mut self, names: Arc<[String]>) {
        self.columns = names;
    }

    /// A row arrived; `decode` writes its values.
    #[inline]
    pub(crate) fn row_of(
        &mut self,
        keep: Keep,
        decode: impl FnOnce(&mut RowWriter<'_>) -> Result<(), ProtocolError>,
    ) -> Result<(), ProtocolError> {
        self.row_count += 1;
        match keep {
            Keep::None => return Ok(()),
            Keep::LastRow => self.rows.clear(),
            Keep::AllRows => {}
        }
        self.rows.push(decode)?;
        if self.kept_bytes + self.rows.bytes() > KEPT_BYTES_MAX {
            self.rows.clear();
            self.kept_bytes = KEPT_BYTES_MAX;
            self.fail(result_too_large());
        }
        Ok(())
    }

    /// Whether results of earlier statements of the request are kept.
    pub(crate) fn has_results(&self) -> bool {
        !self.results.is_empty()
    }

    /// A statement is complete. It touched the rows that it returned or affected, which an
    /// `UPDATE … RETURNING` counts twice.
    #[inline]
    pub(crate) fn end_statement(&mut self, keep: Keep, rows_affected: u64) {
        self.rows_returned += self.row_count;
        self.touch(self.row_count.max(rows_affected));
        self.rows_affected = self.rows_affected.wrapping_add(rows_affected);
        if keep != Keep::None {
            self.keep_result();
        }
        self.row_count = 0;
    }

    /// Counts rows that a statement touched.
    #[inline]
    pub(crate) fn touch(&mut self, rows: u64) {
        self.rows_touched = self.rows_touched.wrapping_add(rows);
    }

    fn keep_result(&mut self) {
        let names: usize = self.columns.iter().map(|name| name.len() + size_of::<String>()).sum();
        self.kept_bytes += size_of::<ResultSet>() + names + self.rows.bytes();
        let result = ResultSet {
            columns: std::mem::take(&mut self.columns),
            row_count: self.row_count,
            rows: std::mem::take(&mut self.rows),
        };
        if self.kept_bytes > KEPT_BYTES_MAX {
            self.fail(result_too_large());
        } else {
            self.results.push(result);
        }
    }
}

/// The error of an answer that takes more than [`KEPT_BYTES_MAX`].
pub fn result_too_large() -> ServerError {
    ServerError::new(
        FailureClass::Script,
        "result_too_large",
        format!("the script keeps more than {KEPT_BYTES_MAX} bytes of one answer"),
    )
}

#[cfg(test)]
mod tests {
    use super::{KEPT_BYTES_MAX, ReplyBuilder};
    use dbdyno_model::{Keep, RowWriter};

    fn row(answer: &mut ReplyBuilder, keep: Keep, value: &str) {
        let decode = |row: &mut RowWriter<'_>| {
            row.text(Some(value));
            Ok(())
        };
        answer.row_of(keep, decode).expect("it is read");
    }

    #[test]
    fn the_last_row_is_the_one_kept() {
        let mut answer = ReplyBuilder::default();
        answer.set_columns(["n".to_owned()].into());
        for value in ["1", "2", "3"] {
            row(&mut answer, Keep::LastRow, value);
        }
        answer.end_statement(Keep::LastRow, 0);
        let reply = answer.reply(false);
        assert_eq!((reply.rows_returned, reply.results[0].row_count), (3, 3));
        assert_eq!(reply.results[0].rows, [[Some("3")]].into_iter().collect());
        assert_eq!(*reply.results[0].columns, ["n"]);
    }

    #[test]
    fn kept_rows_are_bounded() {
        let mut answer = ReplyBuilder::default();
        let value = "x".repeat(KEPT_BYTES_MAX / 4);
        (0..6).for_each(|_| row(&mut answer, Keep::AllRows, &value));
        answer.end_statement(Keep::AllRows, 0);
        let reply = answer.reply(false);
        assert_eq!(reply.error.expect("an error").code, "result_too_large");
        assert_eq!((reply.rows_returned, reply.results.len()), (6, 0));
    }
}
