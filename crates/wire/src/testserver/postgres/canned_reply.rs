//! Prebuilt answers: executing a statement only copies bytes.

use crate::postgres::encode::{message, text};

/// The OID of the type text.
const TEXT_TYPE: u32 = 25;

/// The answer to one statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannedReply {
    /// The description of the rows, or that there are none.
    pub(super) description: Vec<u8>,
    /// The answer to its execution.
    pub(super) body: Vec<u8>,
    pub(super) has_rows: bool,
    pub(super) is_error: bool,
}

impl CannedReply {
    /// A command without rows, with a tag such as `UPDATE 1`.
    pub fn command(tag: &str) -> Self {
        let (mut description, mut body) = (Vec::new(), Vec::new());
        message(&mut description, b'n', |_| {});
        message(&mut body, b'C', |out| text(out, tag));
        Self { description, body, has_rows: false, is_error: false }
    }

    /// A query with these columns and rows, all text.
    pub fn rows(columns: &[&str], rows: &[&[Option<&str>]]) -> Self {
        let (mut description, mut body) = (Vec::new(), Vec::new());
        message(&mut description, b'T', |out| describe(columns, out));
        for row in rows {
            message(&mut body, b'D', |out| write_row(row, out));
        }
        message(&mut body, b'C', |out| text(out, &format!("SELECT {}", rows.len())));
        Self { description, body, has_rows: true, is_error: false }
    }

    /// An error with this SQLSTATE.
    pub fn error(code: &str, words: &str) -> Self {
        let mut body = Vec::new();
        message(&mut body, b'E', |out| {
            for (field, value) in [(b'S', "ERROR"), (b'V', "ERROR"), (b'C', code), (b'M', words)] {
                out.push(field);
                text(out, value);
            }
            out.push(0);
        });
        Self { is_error: true, body, ..Self::command("") }
    }
}

fn describe(columns: &[&str], out: &mut Vec<u8>) {
    out.extend_from_slice(&(columns.len() as u16).to_be_bytes());
    for name in columns {
        text(out, name);
        out.extend_from_slice(&[0; 6]); // of no table
        out.extend_from_slice(&TEXT_TYPE.to_be_bytes());
        out.extend_from_slice(&[0xff; 6]); // of any size, without a modifier
        out.extend_from_slice(&[0; 2]); // as text
    }
}

fn write_row(row: &[Option<&str>], out: &mut Vec<u8>) {
    out.extend_from_slice(&(row.len() as u16).to_be_bytes());
    for value in row {
        let length = value.map_or(-1, |value| value.len() as i32);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(value.unwrap_or_default().as_bytes());
    }
}
