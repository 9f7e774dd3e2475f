//! Gathers the answer to one request: counts always, rows only when asked for.

use super::message::Fields;
use crate::{MESSAGE_BYTES_MAX, ProtocolError};
use dbdyno_model::{FailureClass, Keep, Reply, ResultSet, ServerError};

/// Kept values of one answer take at most so much memory.
const KEPT_BYTES_MAX: usize = MESSAGE_BYTES_MAX;

/// The answer to the request at the head of the queue, as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) error: Option<ServerError>,
    results: Vec<ResultSet>,
    /// Names of the columns, for the result set that has begun.
    columns: Vec<String>,
    /// Rows of the result set that has begun.
    rows: Vec<Vec<Option<String>>>,
    row_count: u64,
    rows_returned: u64,
    rows_affected: u64,
    kept_bytes: usize,
}

impl Answer {
    /// Makes ready for the next request. Mostly there is nothing to free, so look first.
    #[inline]
    pub(crate) fn clear(&mut self) {
        (self.row_count, self.rows_returned, self.rows_affected) = (0, 0, 0);
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
            in_transaction,
        }
    }

    /// The first error is the cause; what follows it is not of interest.
    pub(crate) fn fail(&mut self, error: ServerError) {
        self.error.get_or_insert(error);
    }

    /// A `RowDescription`: a result set with rows begins.
    pub(crate) fn begin_rows(&mut self, keep: Keep, body: &[u8]) -> Result<(), ProtocolError> {
        if keep != Keep::None {
            self.columns = column_names(body)?;
            self.kept_bytes += body.len();
        }
        Ok(())
    }

    /// A `DataRow`.
    #[inline]
    pub(crate) fn row(&mut self, keep: Keep, body: &[u8]) -> Result<(), ProtocolError> {
        self.row_count += 1;
        if keep != Keep::None {
            self.keep_row(keep, body)?;
        }
        Ok(())
    }

    fn keep_row(&mut self, keep: Keep, body: &[u8]) -> Result<(), ProtocolError> {
        if keep == Keep::LastRow && !self.rows.is_empty() {
            self.kept_bytes = self.kept_bytes.saturating_sub(row_bytes(&self.rows[0]));
            self.rows.clear();
        }
        let row = row_values(body)?;
        self.kept_bytes += row_bytes(&row);
        if self.kept_bytes > KEPT_BYTES_MAX {
            self.fail(too_large());
        } else {
            self.rows.push(row);
        }
        Ok(())
    }

    /// A `CommandComplete`: one statement is done.
    #[inline]
    pub(crate) fn complete(&mut self, keep: Keep, body: &[u8]) {
        self.rows_returned += self.row_count;
        self.rows_affected += rows_affected(body);
        if keep != Keep::None {
            self.keep_result();
        }
        self.row_count = 0;
    }

    fn keep_result(&mut self) {
        self.kept_bytes += std::mem::size_of::<ResultSet>();
        let result = ResultSet {
            columns: std::mem::take(&mut self.columns),
            row_count: self.row_count,
            rows: std::mem::take(&mut self.rows),
        };
        if self.kept_bytes <= KEPT_BYTES_MAX {
            self.results.push(result);
        } else {
            self.fail(too_large());
        }
    }
}

fn too_large() -> ServerError {
    ServerError {
        class: FailureClass::Script,
        code: "result_too_large".into(),
        message: format!("the script keeps more than {KEPT_BYTES_MAX} bytes of one answer"),
    }
}

fn column_names(body: &[u8]) -> Result<Vec<String>, ProtocolError> {
    /// Table, attribute, type, its size and modifier, format: what follows each name.
    const AFTER_NAME_BYTES: usize = 18;
    let mut fields = Fields(body);
    let count = fields.u16()?;
    (0..count)
        .map(|_| {
            let name = fields.text()?;
            fields.bytes(AFTER_NAME_BYTES)?;
            Ok(name)
        })
        .collect()
}

fn row_values(body: &[u8]) -> Result<Vec<Option<String>>, ProtocolError> {
    let mut fields = Fields(body);
    let count = fields.u16()?;
    (0..count).map(|_| row_value(&mut fields)).collect()
}

fn row_value(fields: &mut Fields<'_>) -> Result<Option<String>, ProtocolError> {
    match fields.i32()? {
        -1 => Ok(None),
        length => {
            let length = usize::try_from(length)
                .map_err(|_| ProtocolError::Malformed("a value of negative length"))?;
            let value = fields.bytes(length)?;
            Ok(Some(String::from_utf8_lossy(value).into_owned()))
        }
    }
}

/// What a kept row occupies, roughly: a value of any length has its bookkeeping.
fn row_bytes(row: &[Option<String>]) -> usize {
    let values: usize = row.iter().flatten().map(String::len).sum();
    values + std::mem::size_of_val(row) + std::mem::size_of::<Vec<Option<String>>>()
}

/// The number at the end of a command tag such as `UPDATE 3` or `INSERT 0 1`; rows that were
/// only read (`SELECT 1`, `FETCH 1`) do not count.
#[inline]
fn rows_affected(tag: &[u8]) -> u64 {
    let tag = tag.strip_suffix(b"\0").unwrap_or(tag);
    if tag.starts_with(b"SELECT") || tag.starts_with(b"FETCH") || tag.starts_with(b"MOVE") {
        return 0;
    }
    let digits = tag.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    tag[tag.len() - digits..]
        .iter()
        .fold(0, |sum: u64, digit| sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::{Answer, rows_affected};
    use dbdyno_model::Keep;

    #[test]
    fn a_tag_tells_the_rows_affected() {
        for (tag, count) in [
            (&b"UPDATE 3\0"[..], 3),
            (b"INSERT 0 12\0", 12),
            (b"DELETE 0\0", 0),
            (b"COPY 100000\0", 100_000),
            (b"MERGE 7\0", 7),
            (b"SELECT 5\0", 0),
            (b"FETCH 5\0", 0),
            (b"BEGIN\0", 0),
            (b"", 0),
        ] {
            assert_eq!(rows_affected(tag), count, "{}", tag.escape_ascii());
        }
        rows_affected(b"UPDATE 99999999999999999999999999\0"); // wraps, does not panic
    }

    fn one_value_row(value: &[u8]) -> Vec<u8> {
        let length = (value.len() as u32).to_be_bytes();
        [&[0, 1], &length[..], value].concat()
    }

    #[test]
    fn the_last_row_is_the_one_kept() {
        let mut answer = Answer::default();
        for value in [b"1", b"2", b"3"] {
            answer.row(Keep::LastRow, &one_value_row(value)).expect("a row");
        }
        answer.complete(Keep::LastRow, b"SELECT 3\0");
        let reply = answer.reply(false);
        assert_eq!(reply.rows_returned, 3);
        assert_eq!(reply.results[0].rows, [[Some("3".to_owned())]]);
        assert_eq!(reply.results[0].row_count, 3);
    }

    #[test]
    fn kept_rows_are_bounded() {
        let mut answer = Answer::default();
        let row = one_value_row(&vec![b'x'; super::KEPT_BYTES_MAX / 4]);
        for _ in 0..6 {
            answer.row(Keep::AllRows, &row).expect("a row");
        }
        answer.complete(Keep::AllRows, b"SELECT 6\0");
        let reply = answer.reply(false);
        assert_eq!(reply.error.expect("an error").code, "result_too_large");
        assert_eq!((reply.rows_returned, reply.results.len()), (6, 0));
    }

    #[test]
    fn a_row_that_lies_is_malformed() {
        for body in [&b"\0\x01\0\0\0\x05abc"[..], b"\0\x02\0\0\0\0", b"\0\x01\xff\xff\xff\xfe", b""]
        {
            assert!(Answer::default().row(Keep::AllRows, body).is_err(), "{body:?}");
        }
    }
}
