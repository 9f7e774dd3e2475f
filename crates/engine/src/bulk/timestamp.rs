//! Dates, timestamps and decimals as text, as MySQL and ODBC drivers read them.

use std::io::Write;

const SECOND_US: i64 = 1_000_000;
const DAY_S: i64 = 86_400;
/// Days from 0000-03-01 to 2000-01-01. Counting years from March puts leap days at the ends of
/// years.
const DAYS_TO_2000: i64 = 730_425;
/// Days of the calendar's 400-year cycle.
const CYCLE_DAYS: i64 = 146_097;

/// Writes a timestamp, given as microseconds since the start of the year 2000.
pub(super) fn write_timestamp(out: &mut Vec<u8>, micros: i64) {
    let (seconds, micros) = (micros.div_euclid(SECOND_US), micros.rem_euclid(SECOND_US));
    let (days, seconds) = (seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let _ =
        write!(out, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}");
}

/// Writes a date, given as days since the start of the year 2000.
pub(super) fn write_date(out: &mut Vec<u8>, days: i64) {
    let (year, month, day) = date(days);
    let _ = write!(out, "{year:04}-{month:02}-{day:02}");
}

/// Writes a number of `scale` digits after the point, given in units of the last of them.
pub(super) fn write_decimal(out: &mut Vec<u8>, units: i64, scale: u8) {
    let (sign, one) = (if units < 0 { "-" } else { "" }, 10_u64.pow(scale.into()));
    let (whole, part) = (units.unsigned_abs() / one, units.unsigned_abs() % one);
    let _ = match scale {
        0 => write!(out, "{sign}{whole}"),
        _ => write!(out, "{sign}{whole}.{part:0width$}", width = scale.into()),
    };
}

/// Year, month and day of the date this many days after 2000-01-01. Years are counted from March,
/// so that a leap day is the last of its year, its century and its cycle.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_2000;
    let (cycle, day) = (days.div_euclid(CYCLE_DAYS), days.rem_euclid(CYCLE_DAYS));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // From March on, each five months have 153 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (cycle * 400 + year + later, month, day)
}

#[cfg(test)]
mod tests {
    use super::{DAY_S, SECOND_US, write_date, write_decimal, write_timestamp};

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
    fn a_date_has_no_time() {
        let mut text = Vec::new();
        write_date(&mut text, 59);
        assert_eq!(text, b"2000-02-29");
    }

    #[test]
    fn a_decimal_keeps_its_sign_and_every_digit() {
        for (units, scale, expected) in [
            (-1_000, 2, "-10.00"),
            (-5, 2, "-0.05"),
            (0, 4, "0.0000"),
            (7, 0, "7"),
            (i64::MIN, 18, "-9.223372036854775808"),
        ] {
            let mut text = Vec::new();
            write_decimal(&mut text, units, scale);
            assert_eq!(String::from_utf8(text).unwrap(), expected);
        }
    }
}
