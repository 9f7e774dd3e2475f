//! The types of MySQL's protocol, and values of the binary protocol as text.
//!
//! A kept value has the same text as in the text protocol, except that floating-point numbers may
//! be formatted differently.

use super::fields::Fields;
use crate::ProtocolError;
use std::fmt::Write;

pub(super) const TINY: u8 = 1;
const SHORT: u8 = 2;
const LONG: u8 = 3;
const FLOAT: u8 = 4;
pub(super) const DOUBLE: u8 = 5;
const NULL: u8 = 6;
const TIMESTAMP: u8 = 7;
pub(super) const LONGLONG: u8 = 8;
const INT24: u8 = 9;
const DATE: u8 = 10;
const TIME: u8 = 11;
const DATETIME: u8 = 12;
const YEAR: u8 = 13;
pub(super) const VAR_STRING: u8 = 253;

const UNSIGNED_FLAG: u16 = 0x20;

/// A greater number of digits after the point means: as many as there are.
const FRACTION_DIGITS_MAX: u8 = 30;

/// The properties of a column that are needed to decode its binary values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    type_code: u8,
    is_unsigned: bool,
    /// Digits after the point, of a number or of seconds.
    decimals: u8,
}

impl Column {
    /// Reads a column definition; returns also its name.
    pub(super) fn read(body: &[u8]) -> Result<(Self, &[u8]), ProtocolError> {
        let mut fields = Fields(body);
        for _catalog_schema_table_and_its_origin in 0..4 {
            fields.sized_bytes()?;
        }
        let name = fields.sized_bytes()?;
        fields.sized_bytes()?; // the name in the table
        let mut fixed = Fields(fields.sized_bytes()?);
        fixed.bytes(6)?; // collation and width
        let type_code = fixed.u8()?;
        let is_unsigned = fixed.u16()? & UNSIGNED_FLAG != 0;
        let column = Self { type_code, is_unsigned, decimals: fixed.u8()? };
        Ok((column, name))
    }

    /// Reads one value that is not NULL, and writes it as text.
    pub(super) fn write(
        self,
        fields: &mut Fields<'_>,
        text: &mut String,
    ) -> Result<(), ProtocolError> {
        match self.type_code {
            TINY => self.write_integer(fields.chunk::<1>()?, text),
            SHORT => self.write_integer(fields.chunk::<2>()?, text),
            LONG | INT24 => self.write_integer(fields.chunk::<4>()?, text),
            LONGLONG => self.write_integer(fields.chunk::<8>()?, text),
            YEAR => _ = write!(text, "{:04}", fields.u16()?),
            FLOAT => self.write_float(f64::from(f32::from_le_bytes(fields.chunk()?)), true, text),
            DOUBLE => self.write_float(f64::from_le_bytes(fields.chunk()?), false, text),
            DATE | DATETIME | TIMESTAMP => self.write_date(fields, text)?,
            TIME => self.write_time(fields, text)?,
            NULL => {}
            _ => text.push_str(&String::from_utf8_lossy(fields.sized_bytes()?)),
        }
        Ok(())
    }

    fn write_integer<const N: usize>(self, bytes: [u8; N], text: &mut String) {
        let is_negative = !self.is_unsigned && bytes[N - 1] & 0x80 != 0;
        let mut wide = [if is_negative { 0xff } else { 0 }; 8];
        wide[..N].copy_from_slice(&bytes);
        _ = if self.is_unsigned {
            write!(text, "{}", u64::from_le_bytes(wide))
        } else {
            write!(text, "{}", i64::from_le_bytes(wide))
        };
    }

    fn write_float(self, number: f64, is_single: bool, text: &mut String) {
        if self.decimals <= FRACTION_DIGITS_MAX {
            _ = write!(text, "{number:.*}", usize::from(self.decimals));
        } else if is_single {
            _ = write!(text, "{}", number as f32);
        } else {
            dbdyno_model::write_double(text, number);
        }
    }

    /// A date, with the time of day where the type has one. Trailing zero fields are not sent.
    fn write_date(self, fields: &mut Fields<'_>, text: &mut String) -> Result<(), ProtocolError> {
        let [low, high, month, day, hour, minute, second, rest @ ..] = sent::<11>(fields)?;
        let year = u16::from_le_bytes([low, high]);
        _ = write!(text, "{year:04}-{month:02}-{day:02}");
        if self.type_code != DATE {
            _ = write!(text, " {hour:02}:{minute:02}:{second:02}");
            self.write_fraction(u32::from_le_bytes(rest), text);
        }
        Ok(())
    }

    /// A duration: days are counted as hours.
    fn write_time(self, fields: &mut Fields<'_>, text: &mut String) -> Result<(), ProtocolError> {
        let [is_negative, a, b, c, d, hour, minute, second, rest @ ..] = sent::<12>(fields)?;
        let days = u64::from(u32::from_le_bytes([a, b, c, d]));
        let hours = days * 24 + u64::from(hour);
        let sign = if is_negative == 0 { "" } else { "-" };
        _ = write!(text, "{sign}{hours:02}:{minute:02}:{second:02}");
        self.write_fraction(u32::from_le_bytes(rest), text);
        Ok(())
    }

    fn write_fraction(self, micros: u32, text: &mut String) {
        let digits = if self.decimals > 6 { 6 } else { usize::from(self.decimals) };
        if digits > 0 && (micros > 0 || self.decimals <= 6) {
            let all = format!("{micros:06}");
            _ = write!(text, ".{}", &all[..digits]);
        }
    }
}

/// The fields of a date or a time, after their length; those that were not sent are zero.
fn sent<const N: usize>(fields: &mut Fields<'_>) -> Result<[u8; N], ProtocolError> {
    let bytes = fields.sized_bytes()?;
    let mut whole = [0; N];
    let known = whole
        .get_mut(..bytes.len())
        .ok_or(ProtocolError::Malformed("a date or time with too many bytes"))?;
    known.copy_from_slice(bytes);
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::{Column, DATE, DATETIME, DOUBLE, FLOAT, Fields, LONG, SHORT, TIME, TINY, YEAR};

    fn text(type_code: u8, is_unsigned: bool, decimals: u8, bytes: &[u8]) -> String {
        let mut fields = Fields(bytes);
        let column = Column { type_code, is_unsigned, decimals };
        let mut text = String::new();
        column.write(&mut fields, &mut text).expect("whole");
        assert!(fields.0.is_empty(), "{type_code}");
        text
    }

    #[test]
    fn numbers_read_as_text() {
        for (type_code, is_unsigned, decimals, bytes, expected) in [
            (TINY, false, 0, &b"\xff"[..], "-1"),
            (TINY, true, 0, b"\xff", "255"),
            (SHORT, false, 0, b"\x00\x80", "-32768"),
            (LONG, true, 0, b"\xff\xff\xff\xff", "4294967295"),
            (super::LONGLONG, false, 0, b"\xfe\xff\xff\xff\xff\xff\xff\xff", "-2"),
            (YEAR, true, 0, b"\xea\x07", "2026"),
            (FLOAT, false, 31, b"\xcd\xcc\xcc\x3d", "0.1"),
            (DOUBLE, false, 31, b"\0\0\0\0\0\0\xe0\x3f", "0.5"),
            (DOUBLE, false, 2, b"\0\0\0\0\0\0\xe0\x3f", "0.50"),
        ] {
            assert_eq!(text(type_code, is_unsigned, decimals, bytes), expected);
        }
    }

    #[test]
    fn dates_and_times_read_as_text() {
        for (type_code, decimals, bytes, expected) in [
            (DATE, 0, &b"\x04\xea\x07\x0b\x15"[..], "2026-11-21"),
            (DATE, 0, b"\x00", "0000-00-00"),
            (DATETIME, 0, b"\x04\xea\x07\x0b\x15", "2026-11-21 00:00:00"),
            (DATETIME, 0, b"\x07\xea\x07\x0b\x15\x01\x02\x03", "2026-11-21 01:02:03"),
            (
                DATETIME,
                3,
                b"\x0b\xea\x07\x0b\x15\x01\x02\x03\x40\xe2\x01\x00",
                "2026-11-21 01:02:03.123",
            ),
            (TIME, 0, b"\x00", "00:00:00"),
            (TIME, 0, b"\x08\x01\x02\x00\x00\x00\x01\x02\x03", "-49:02:03"),
            (TIME, 31, b"\x0c\x00\x00\x00\x00\x00\x01\x02\x03\x40\xe2\x01\x00", "01:02:03.123456"),
            (TIME, 2, b"\x08\x00\x00\x00\x00\x00\x01\x02\x03", "01:02:03.00"),
        ] {
            assert_eq!(text(type_code, false, decimals, bytes), expected);
        }
    }

    #[test]
    fn a_time_that_lies_is_malformed() {
        for bytes in [&b"\x0c\0"[..], b"\x0d\0\0\0\0\0\0\0\0\0\0\0\0\0", b"", b"\xfb"] {
            let column = Column { type_code: TIME, is_unsigned: false, decimals: 6 };
            assert!(column.write(&mut Fields(bytes), &mut String::new()).is_err(), "{bytes:?}");
        }
    }
}
