//! Loads rows as literals of a multi-row INSERT: slower than `LOAD DATA`, but it works where the
//! server forbids that.

use super::method::LoadMethod;
use super::rows::{Cells, RowMaker};
use super::separated::Separated;
use super::timestamp::{write_date, write_decimal, write_timestamp};
use crate::link::BlockingLink;
use dbdyno_model::{Keep, ServerError};
use std::ops::Range;

/// An `INSERT INTO … VALUES`, to which the rows are appended.
pub(super) struct Literals<'a> {
    sql: &'a str,
    text: Vec<u8>,
}

impl<'a> Literals<'a> {
    pub(super) fn new(sql: &'a str) -> Self {
        Self { sql, text: Vec::new() }
    }
}

impl LoadMethod for Literals<'_> {
    fn begin(&mut self, _link: &mut BlockingLink) -> Result<(), ServerError> {
        Ok(())
    }

    fn rows(
        &mut self,
        link: &mut BlockingLink,
        maker: &RowMaker<'_>,
        numbers: Range<u64>,
    ) -> Result<u64, ServerError> {
        self.text.clear();
        self.text.extend_from_slice(self.sql.as_bytes());
        let mut begin: &[u8] = b" (";
        let count = maker.each(numbers, |row| {
            self.text.extend_from_slice(std::mem::replace(&mut begin, b",("));
            maker.write(row, &mut Tuple::new(&mut self.text));
            self.text.push(b')');
        });
        if count > 0 {
            let sql = str::from_utf8(&self.text).expect("it was made of text");
            link.execute(sql, Keep::None)?;
        }
        Ok(count)
    }

    fn end(&mut self, _link: &mut BlockingLink, _rows: u64) -> Result<(), ServerError> {
        Ok(()) // each statement has reported its errors
    }
}

/// A row being written.
struct Tuple<'a>(Separated<'a>);

impl<'a> Tuple<'a> {
    fn new(text: &'a mut Vec<u8>) -> Self {
        Self(Separated::new(text, b','))
    }
}

impl Cells for Tuple<'_> {
    fn null(&mut self) {
        self.0.value().extend_from_slice(b"NULL");
    }

    fn int8(&mut self, number: i64) {
        self.0.number(number);
    }

    fn text(&mut self, text: &str) {
        let out = self.0.value();
        out.push(b'\'');
        for byte in text.bytes() {
            if matches!(byte, b'\'' | b'\\') {
                out.push(byte);
            }
            out.push(byte);
        }
        out.push(b'\'');
    }

    fn decimal(&mut self, units: i64, scale: u8) {
        write_decimal(self.0.value(), units, scale);
    }

    fn date(&mut self, days: i64) {
        let out = self.0.value();
        out.push(b'\'');
        write_date(out, days);
        out.push(b'\'');
    }

    fn timestamp(&mut self, micros: i64) {
        let out = self.0.value();
        out.push(b'\'');
        write_timestamp(out, micros);
        out.push(b'\'');
    }
}

#[cfg(test)]
mod tests {
    use super::{Cells, Tuple};

    #[test]
    fn what_would_end_a_text_is_doubled() {
        let mut text = Vec::new();
        let mut tuple = Tuple::new(&mut text);
        tuple.text("l'été \\ ");
        tuple.null();
        tuple.int8(i64::MIN);
        let expected = "'l''été \\\\ ',NULL,-9223372036854775808";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
