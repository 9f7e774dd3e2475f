//! Rows as literals of a multi-row INSERT: slower than `LOAD DATA`, and possible where the
//! server forbids that.

use super::rows::{Cells, RowMaker};
use super::way::Way;
use crate::link::PatientLink;
use dbdyno_model::{Keep, ServerError};
use std::io::Write;
use std::ops::Range;

const SECOND_US: i64 = 1_000_000;
const DAY_S: i64 = 86_400;
/// Days from 0000-03-01, where the calendar's leap days fall to the ends of years, to 2000-01-01.
const DAYS_TO_2000: i64 = 730_425;
/// Days of the calendar's whole cycle of 400 years.
const CYCLE_DAYS: i64 = 146_097;

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

impl Way for Literals<'_> {
    fn begin(&mut self, _link: &mut PatientLink) -> Result<(), ServerError> {
        Ok(())
    }

    fn rows(
        &mut self,
        link: &mut PatientLink,
        maker: &RowMaker<'_>,
        rows: Range<u64>,
    ) -> Result<(), ServerError> {
        self.text.clear();
        self.text.extend_from_slice(self.sql.as_bytes());
        for row in rows.clone() {
            self.text.extend_from_slice(if row == rows.start { b" (" } else { b",(" });
            maker.write(row, &mut Tuple { text: &mut self.text, begun: false });
            self.text.push(b')');
        }
        let sql = str::from_utf8(&self.text).expect("it was made of text");
        link.execute(sql, Keep::None).map(drop)
    }

    fn end(&mut self, _link: &mut PatientLink, _rows: u64) -> Result<(), ServerError> {
        Ok(()) // each statement has told its errors
    }
}

/// A row that is being written.
struct Tuple<'a> {
    text: &'a mut Vec<u8>,
    begun: bool,
}

impl Tuple<'_> {
    fn next(&mut self) -> &mut Vec<u8> {
        if std::mem::replace(&mut self.begun, true) {
            self.text.push(b',');
        }
        self.text
    }
}

impl Cells for Tuple<'_> {
    fn null(&mut self) {
        self.next().extend_from_slice(b"NULL");
    }

    fn int4(&mut self, number: i32) {
        self.int8(number.into());
    }

    fn int8(&mut self, number: i64) {
        let _ = write!(self.next(), "{number}");
    }

    fn text(&mut self, text: &str) {
        let out = self.next();
        out.push(b'\'');
        for byte in text.bytes() {
            if matches!(byte, b'\'' | b'\\') {
                out.push(byte);
            }
            out.push(byte);
        }
        out.push(b'\'');
    }

    fn timestamp(&mut self, micros: i64) {
        let out = self.next();
        out.push(b'\'');
        write_timestamp(out, micros);
        out.push(b'\'');
    }
}

/// Microseconds since the start of the year 2000 as MySQL writes an instant.
pub(super) fn write_timestamp(out: &mut Vec<u8>, micros: i64) {
    let (seconds, micros) = (micros.div_euclid(SECOND_US), micros.rem_euclid(SECOND_US));
    let (days, seconds) = (seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let _ =
        write!(out, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}");
}

/// Year, month and day, so many days after 2000-01-01. Years are counted from March on, so
/// that a leap day is the last of its year, its century and its cycle.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_2000;
    let (cycle, day) = (days.div_euclid(CYCLE_DAYS), days.rem_euclid(CYCLE_DAYS));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // From March on, five months have 153 days, over and over.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (cycle * 400 + year + later, month, day)
}

#[cfg(test)]
mod tests {
    use super::{Cells, DAY_S, SECOND_US, Tuple, write_timestamp};

    fn timestamp(micros: i64) -> String {
        let mut text = Vec::new();
        write_timestamp(&mut text, micros);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn instants_follow_the_calendar() {
        let day = DAY_S * SECOND_US;
        for (micros, expected) in [
            (0, "2000-01-01 00:00:00.000000"),
            (59 * day, "2000-02-29 00:00:00.000000"),
            (60 * day, "2000-03-01 00:00:00.000000"),
            (-1, "1999-12-31 23:59:59.999999"),
            (8_824 * day + 43_200 * SECOND_US, "2024-02-28 12:00:00.000000"),
            (8_826 * day, "2024-03-01 00:00:00.000000"),
            (36_583 * day, "2100-02-28 00:00:00.000000"),
            (36_584 * day, "2100-03-01 00:00:00.000000"),
        ] {
            assert_eq!(timestamp(micros), expected);
        }
    }

    #[test]
    fn what_would_end_a_text_is_doubled() {
        let mut text = Vec::new();
        let mut tuple = Tuple { text: &mut text, begun: false };
        tuple.text("l'été \\ ");
        tuple.null();
        tuple.int8(i64::MIN);
        let expected = "'l''été \\\\ ',NULL,-9223372036854775808";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
