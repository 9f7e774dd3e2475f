//! Loads rows with MySQL's `LOAD DATA LOCAL INFILE`, in its default text format: a line for each
//! row, tabs between values, a backslash before each byte that would end either.
//!
//! With LOCAL the server turns errors of single rows into warnings and continues without these
//! rows. Here a warning is an error, and so is a missing row.

use super::method::LoadMethod;
use super::rows::{Cells, RowMaker};
use super::separated::Separated;
use super::timestamp::{write_date, write_decimal, write_timestamp};
use crate::link::BlockingLink;
use dbdyno_model::{FailureClass, Keep, ServerError};
use std::ops::Range;

/// A `LOAD DATA LOCAL INFILE 'dbdyno' INTO TABLE …`; the text is UTF-8.
pub(super) struct Infile<'a> {
    sql: &'a str,
    text: Vec<u8>,
}

impl<'a> Infile<'a> {
    pub(super) fn new(sql: &'a str) -> Self {
        Self { sql, text: Vec::new() }
    }
}

impl LoadMethod for Infile<'_> {
    fn begin(&mut self, link: &mut BlockingLink) -> Result<(), ServerError> {
        link.rows_begin(self.sql)
    }

    fn rows(
        &mut self,
        link: &mut BlockingLink,
        maker: &RowMaker<'_>,
        numbers: Range<u64>,
    ) -> Result<u64, ServerError> {
        self.text.clear();
        let count = maker.each(numbers, |row| {
            maker.write(row, &mut Line::new(&mut self.text));
            self.text.push(b'\n');
        });
        link.rows(&self.text)?;
        Ok(count)
    }

    fn end(&mut self, link: &mut BlockingLink, rows: u64) -> Result<(), ServerError> {
        let arrived = link.rows_done()?;
        let warnings = link.execute("SHOW WARNINGS LIMIT 1", Keep::AllRows)?;
        let first = warnings.results.iter().find_map(|result| result.rows.last());
        let level_code_message: Vec<Option<&str>> = first.into_iter().flatten().collect();
        if let [_, Some(code), Some(message)] = level_code_message[..] {
            return Err(refused(code, message.to_owned()));
        }
        if arrived != rows {
            return Err(refused("rows", format!("{arrived} of {rows} rows arrived")));
        }
        Ok(())
    }
}

fn refused(code: &str, message: String) -> ServerError {
    ServerError::new(FailureClass::Data, code, message)
}

/// A line being written.
struct Line<'a>(Separated<'a>);

impl<'a> Line<'a> {
    fn new(text: &'a mut Vec<u8>) -> Self {
        Self(Separated::new(text, b'\t'))
    }
}

impl Cells for Line<'_> {
    fn null(&mut self) {
        self.0.value().extend_from_slice(b"\\N");
    }

    fn int8(&mut self, number: i64) {
        self.0.number(number);
    }

    fn text(&mut self, text: &str) {
        let out = self.0.value();
        for byte in text.bytes() {
            match byte {
                b'\t' => out.extend_from_slice(b"\\t"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\\' => out.extend_from_slice(b"\\\\"),
                other => out.push(other),
            }
        }
    }

    fn decimal(&mut self, units: i64, scale: u8) {
        write_decimal(self.0.value(), units, scale);
    }

    fn date(&mut self, days: i64) {
        write_date(self.0.value(), days);
    }

    fn timestamp(&mut self, micros: i64) {
        write_timestamp(self.0.value(), micros);
    }
}

#[cfg(test)]
mod tests {
    use super::{Cells, Line};

    #[test]
    fn what_would_end_a_value_or_a_row_is_escaped() {
        let mut text = Vec::new();
        let mut line = Line::new(&mut text);
        line.null();
        line.int4(-7);
        line.text("a\tb\nc\\d é");
        line.text("");
        line.timestamp(1);
        let expected = "\\N\t-7\ta\\tb\\nc\\\\d é\t\t2000-01-01 00:00:00.000001";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
