//! Adds PostgreSQL's messages to the answer of a request.

use super::message::Fields;
use crate::ProtocolError;
pub(crate) use crate::reply_builder::ReplyBuilder;
use dbdyno_model::{Keep, RowWriter};
use std::sync::Arc;

impl ReplyBuilder {
    /// A `DataRow`.
    #[inline]
    pub(crate) fn row(&mut self, keep: Keep, body: &[u8]) -> Result<(), ProtocolError> {
        self.row_of(keep, |row| write_row(body, row))
    }

    /// A `CommandComplete`: a statement is complete.
    #[inline]
    pub(crate) fn complete(&mut self, keep: Keep, body: &[u8]) {
        match body {
            b"COMMIT\0" => self.rolled_back = false,
            b"ROLLBACK\0" => self.rolled_back = true, // also to a savepoint: the text tells
            _ => {}
        }
        self.end_statement(keep, rows_affected(body));
    }
}

/// The names of the columns in a `RowDescription`.
pub(crate) fn column_names(body: &[u8]) -> Result<Arc<[String]>, ProtocolError> {
    /// Table, attribute, type, its size and modifier, format: the fields after each name.
    const AFTER_NAME_BYTES: usize = 18;
    let mut fields = Fields(body);
    let count = fields.u16()?;
    let mut name = || {
        let name = fields.text()?;
        fields.bytes(AFTER_NAME_BYTES)?;
        Ok(name)
    };
    (0..count).map(|_| name()).collect()
}

fn write_row(body: &[u8], row: &mut RowWriter<'_>) -> Result<(), ProtocolError> {
    let mut fields = Fields(body);
    for _ in 0..fields.u16()? {
        match fields.i32()? {
            -1 => row.text(None),
            length => {
                let length = usize::try_from(length)
                    .map_err(|_| ProtocolError::Malformed("a value of negative length"))?;
                row.text(Some(&String::from_utf8_lossy(fields.bytes(length)?)));
            }
        }
    }
    Ok(())
}

/// The number at the end of a command tag such as `UPDATE 3` or `INSERT 0 1`; rows that were only
/// read (`SELECT 1`, `FETCH 1`) do not count.
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
    use super::{ReplyBuilder, rows_affected};
    use dbdyno_model::Keep;

    #[test]
    fn a_tag_contains_the_rows_affected() {
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

    #[test]
    fn a_row_that_lies_is_malformed() {
        for body in [&b"\0\x01\0\0\0\x05abc"[..], b"\0\x02\0\0\0\0", b"\0\x01\xff\xff\xff\xfe", b""]
        {
            assert!(ReplyBuilder::default().row(Keep::AllRows, body).is_err(), "{body:?}");
        }
    }
}
