//! Prebuilt answers: executing a statement only copies bytes.

use crate::mysql::packet::{self, write_sized};
use crate::mysql::rows::Format;

/// The type number of text.
const VAR_STRING: u8 = 253;
const OK: u8 = 0;
const END: u8 = 0xfe;

/// Every answer ends with the status and a count of warnings.
const STATUS_FROM_END: usize = 4;

/// The answer to one statement: packets numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannedReply {
    /// To a text.
    text: Vec<u8>,
    /// To a prepared statement.
    binary: Vec<u8>,
    pub(super) columns: u16,
    pub(super) is_error: bool,
}

impl CannedReply {
    /// A command without rows that affected this many.
    pub fn command(rows_affected: u8) -> Self {
        let mut body = Vec::new();
        packet::write(&mut body, 1, |out| {
            out.extend_from_slice(&[OK, rows_affected, 0, 0, 0, 0, 0]);
        });
        Self { text: body.clone(), binary: body, columns: 0, is_error: false }
    }

    /// A query with these columns and rows, all text.
    pub fn rows(columns: &[&str], rows: &[&[Option<&str>]]) -> Self {
        let with =
            |write_row: fn(&[Option<&str>], &mut Vec<u8>)| result_set(columns, rows, write_row);
        Self {
            text: with(text_row),
            binary: with(binary_row),
            columns: columns.len() as u16,
            is_error: false,
        }
    }

    /// An error with this number and SQLSTATE.
    pub fn error(number: u16, sqlstate: &str, words: &str) -> Self {
        let mut body = Vec::new();
        packet::write(&mut body, 1, |out| {
            out.push(packet::ERROR);
            out.extend_from_slice(&number.to_le_bytes());
            out.push(b'#');
            out.extend_from_slice(sqlstate.as_bytes());
            out.extend_from_slice(words.as_bytes());
        });
        Self { text: body.clone(), binary: body, columns: 0, is_error: true }
    }

    /// Writes the answer to a text or to a prepared statement, with `status` at its end.
    pub(super) fn write(&self, format: Format, status: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(match format {
            Format::Text => &self.text,
            Format::Binary => &self.binary,
        });
        if !self.is_error {
            let at = out.len() - STATUS_FROM_END;
            out[at..at + 2].copy_from_slice(&status.to_le_bytes());
        }
    }
}

/// A statement is prepared: its number, then parameters and columns without a name.
pub(super) fn prepared(number: u32, columns: u16, parameters: u16, out: &mut Vec<u8>) {
    packet::write(out, 1, |out| {
        out.push(OK);
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(&columns.to_le_bytes());
        out.extend_from_slice(&parameters.to_le_bytes());
        out.extend_from_slice(&[0, 0, 0]);
    });
    for definitions in 0..u32::from(columns) + u32::from(parameters) {
        packet::write(out, 2_u8.wrapping_add(definitions as u8), |out| definition("?", out));
    }
}

/// Number of columns, columns, rows, end.
fn result_set(
    columns: &[&str],
    rows: &[&[Option<&str>]],
    write_row: fn(&[Option<&str>], &mut Vec<u8>),
) -> Vec<u8> {
    let (mut body, mut sequence) = (Vec::new(), 0_u8);
    let mut next = |write: &dyn Fn(&mut Vec<u8>)| {
        sequence = sequence.wrapping_add(1);
        packet::write(&mut body, sequence, write);
    };
    next(&|out| packet::write_length(out, columns.len()));
    for name in columns {
        next(&|out| definition(name, out));
    }
    for row in rows {
        next(&|out| write_row(row, out));
    }
    next(&|out| out.extend_from_slice(&[END, 0, 0, 0, 0, 0, 0]));
    body
}

/// A column, or a parameter, of text.
fn definition(name: &str, out: &mut Vec<u8>) {
    for part in ["def", "", "", "", name, ""] {
        write_sized(out, part.as_bytes());
    }
    out.extend_from_slice(&[12, 45, 0, 0xff, 0xff, 0, 0, VAR_STRING, 0, 0, 0, 0, 0]);
}

fn text_row(row: &[Option<&str>], out: &mut Vec<u8>) {
    for value in row {
        match value {
            Some(value) => write_sized(out, value.as_bytes()),
            None => out.push(0xfb),
        }
    }
}

fn binary_row(row: &[Option<&str>], out: &mut Vec<u8>) {
    out.push(0);
    let nulls = out.len();
    out.resize(nulls + (row.len() + 2).div_ceil(8), 0);
    for (number, value) in row.iter().enumerate() {
        match value {
            Some(value) => write_sized(out, value.as_bytes()),
            None => out[nulls + (number + 2) / 8] |= 1 << ((number + 2) % 8),
        }
    }
}
