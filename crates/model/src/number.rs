//! Doubles in the format of C's `%.15g`, but with PostgreSQL's names for infinities and NaN: this
//! is how pgbench prints them, and how every query mode here sends them as text.

use std::fmt::Write;

/// Significant digits that survive a round trip through any double.
const DIGITS: i32 = 15;

/// Appends the number, in the shorter of plain and scientific notation, without trailing zeros.
pub fn write_double(out: &mut String, number: f64) {
    if !number.is_finite() {
        return write_special(out, number);
    }
    // Rounded to the digits shown: "d.dddde±n".
    let scientific = format!("{number:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..DIGITS).contains(&exponent) {
        let decimals = (DIGITS - 1 - exponent) as usize;
        out.push_str(without_closing_zeros(&format!("{number:.decimals$}")));
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let mantissa = without_closing_zeros(mantissa);
        // Writing to a String does not fail.
        let _ = write!(out, "{mantissa}e{sign}{:02}", exponent.abs());
    }
}

fn write_special(out: &mut String, number: f64) {
    out.push_str(match (number.is_nan(), number > 0.0) {
        (true, _) => "NaN",
        (false, true) => "Infinity",
        (false, false) => "-Infinity",
    });
}

fn without_closing_zeros(decimal: &str) -> &str {
    if decimal.contains('.') {
        decimal.trim_end_matches('0').trim_end_matches('.')
    } else {
        decimal
    }
}

#[cfg(test)]
mod tests {
    use super::write_double;

    #[test]
    fn numbers_look_as_c_prints_them() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1.0, "1"),
            (-5432.12, "-5432.12"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (1.0 / 3.0, "0.333333333333333"),
            (999_999_999_999_999.9, "1e+15"),
            (1e300, "1e+300"),
            (5e-324, "4.94065645841247e-324"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            let mut out = String::new();
            write_double(&mut out, number);
            assert_eq!(out, text);
        }
    }
}
