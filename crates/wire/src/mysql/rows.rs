//! Decodes the rows that are kept, of text results and of prepared statements.

use super::column::Column;
use super::fields::Fields;
use crate::ProtocolError;
use crate::reply_builder::Row;

/// Stands for NULL in place of a length.
const NULL: u8 = 0xfb;

/// The first bits of a binary row's NULL bitmap are unused.
const NULL_MAP_OFFSET: usize = 2;

/// The format of a row's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Binary,
}

impl Format {
    pub(super) fn read(self, columns: &[Column], body: &[u8]) -> Result<Row, ProtocolError> {
        match self {
            Self::Text => text(columns.len(), body),
            Self::Binary => binary(columns, body),
        }
    }
}

/// A row of the text protocol: values, each preceded by its length.
fn text(columns: usize, body: &[u8]) -> Result<Row, ProtocolError> {
    let mut fields = Fields(body);
    (0..columns).map(|_| text_value(&mut fields)).collect()
}

fn text_value(fields: &mut Fields<'_>) -> Result<Option<String>, ProtocolError> {
    if let [NULL, rest @ ..] = fields.0 {
        fields.0 = rest;
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(fields.sized_bytes()?).into_owned()))
}

/// A row of the binary protocol: a NULL bitmap, then the other values.
fn binary(columns: &[Column], body: &[u8]) -> Result<Row, ProtocolError> {
    let mut fields = Fields(body);
    if fields.u8()? != 0 {
        return Err(ProtocolError::Malformed("a binary row with a wrong first byte"));
    }
    let nulls = fields.bytes((columns.len() + NULL_MAP_OFFSET).div_ceil(8))?;
    let is_null = |bit: usize| nulls[bit / 8] >> (bit % 8) & 1 == 1;
    let value = |(number, column): (usize, &Column)| {
        if is_null(number + NULL_MAP_OFFSET) {
            Ok(None)
        } else {
            column.value(&mut fields).map(Some)
        }
    };
    columns.iter().enumerate().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_text_row_has_null_and_empty_values() {
        let row = text(3, b"\x01a\xfb\x00").expect("whole");
        assert_eq!(row, [Some("a".to_owned()), None, Some(String::new())]);
        assert!(text(4, b"\x01a\xfb\x00").is_err());
        assert!(text(1, b"\x05abc").is_err());
    }
}
