//! Decodes the rows that are kept, of text results and of prepared statements.

use super::column::Column;
use super::fields::Fields;
use crate::ProtocolError;
use dbdyno_model::RowWriter;

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
    pub(super) fn read(
        self,
        columns: &[Column],
        body: &[u8],
        row: &mut RowWriter<'_>,
    ) -> Result<(), ProtocolError> {
        match self {
            Self::Text => text(columns.len(), body, row),
            Self::Binary => binary(columns, body, row),
        }
    }
}

/// A row of the text protocol: values, each preceded by its length.
fn text(columns: usize, body: &[u8], row: &mut RowWriter<'_>) -> Result<(), ProtocolError> {
    let mut fields = Fields(body);
    for _ in 0..columns {
        if let [NULL, rest @ ..] = fields.0 {
            fields.0 = rest;
            row.text(None);
        } else {
            row.text(Some(&String::from_utf8_lossy(fields.sized_bytes()?)));
        }
    }
    Ok(())
}

/// A row of the binary protocol: a NULL bitmap, then the other values.
fn binary(columns: &[Column], body: &[u8], row: &mut RowWriter<'_>) -> Result<(), ProtocolError> {
    let mut fields = Fields(body);
    if fields.u8()? != 0 {
        return Err(ProtocolError::Malformed("a binary row with a wrong first byte"));
    }
    let nulls = fields.bytes((columns.len() + NULL_MAP_OFFSET).div_ceil(8))?;
    for (column, bit) in columns.iter().zip(NULL_MAP_OFFSET..) {
        if nulls[bit / 8] >> (bit % 8) & 1 == 1 {
            row.text(None);
        } else {
            row.value(|text| column.write(&mut fields, text))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::text;
    use dbdyno_model::Rows;

    #[test]
    fn a_text_row_has_null_and_empty_values() {
        let mut rows = Rows::default();
        rows.push(|row| text(3, b"\x01a\xfb\x00", row)).expect("whole");
        assert_eq!(rows, [[Some("a"), None, Some("")]].into_iter().collect());
        assert!(rows.push(|row| text(4, b"\x01a\xfb\x00", row)).is_err());
        assert!(rows.push(|row| text(1, b"\x05abc", row)).is_err());
    }
}
