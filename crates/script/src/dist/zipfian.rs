//! A few numbers get most of the draws: the k-th is drawn with weight `1 / k^s`.
//!
//! Drawn by rejection (Devroye, Non-Uniform Random Variate Generation, 1986, pp. 550-551), without
//! a table and without setup time, whatever the size of the range.

use super::Span;
use dbdyno_model::Stream;

/// Parameters with which few draws are rejected and all intermediate results are finite.
const PARAMETERS: std::ops::RangeInclusive<f64> = 1.001..=1000.0;

/// Draws from the range.
pub(crate) fn zipfian(stream: &mut Stream, span: Span, parameter: f64) -> Result<i64, String> {
    if !PARAMETERS.contains(&parameter) {
        let (least, most) = (PARAMETERS.start(), PARAMETERS.end());
        return Err(format!("a zipfian parameter must be from {least} to {most}, not {parameter}"));
    }
    Ok(span.low - 1 + rank(stream, span.size, parameter))
}

/// A rank from 1 to `ranks`.
#[expect(clippy::many_single_char_names, reason = "the names of the book")]
fn rank(stream: &mut Stream, ranks: i64, parameter: f64) -> i64 {
    if ranks <= 1 {
        return 1;
    }
    let power = parameter - 1.0;
    let b = 2_f64.powf(power);
    loop {
        let (u, v) = (stream.next_f64(), stream.next_f64());
        let x = u.powf(-1.0 / power).floor();
        let t = (1.0 + 1.0 / x).powf(power);
        if v * x * (t - 1.0) / (b - 1.0) <= t / b && x <= ranks as f64 {
            return x as i64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::zipfian;
    use crate::dist::testing::{counts, fits};

    #[test]
    fn shares_fall_with_the_power_of_the_rank() {
        let drawn = counts(8, 50_000, |stream, span| zipfian(stream, span, 1.5).unwrap());
        let weights: Vec<f64> = (1..=8).map(|rank| f64::from(rank).powf(-1.5)).collect();
        let total: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        assert!(fits(&drawn, &shares), "{drawn:?}");
    }

    #[test]
    fn a_range_of_one_needs_no_chance() {
        let drawn = counts(1, 10, |stream, span| zipfian(stream, span, 1.001).unwrap());
        assert_eq!(drawn, [10]);
    }
}
