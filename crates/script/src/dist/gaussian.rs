//! Densest in the middle: a normal density truncated at `parameter` standard deviations on either
//! side and stretched over the range.

use super::Span;
use dbdyno_model::Stream;
use std::f64::consts::TAU;

/// Draws from the range. The parameter is at least 2, so that few draws fall outside.
pub(crate) fn gaussian(stream: &mut Stream, span: Span, parameter: f64) -> Result<i64, String> {
    if parameter < 2.0 || parameter.is_nan() {
        return Err(format!("a gaussian parameter must be at least 2, not {parameter}"));
    }
    loop {
        let deviation = normal(stream);
        if (-parameter..parameter).contains(&deviation) {
            return Ok(span.at((deviation + parameter) / (2.0 * parameter)));
        }
    }
}

/// Standard normal (Box and Muller, 1958).
fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * stream.next_f64_positive().ln()).sqrt();
    radius * (TAU * stream.next_f64_positive()).sin()
}

#[cfg(test)]
mod tests {
    use super::gaussian;
    use crate::dist::testing::{counts, fits};

    #[test]
    fn shares_are_those_of_the_cut_normal_law() {
        let drawn = counts(4, 50_000, |stream, span| gaussian(stream, span, 2.0).unwrap());
        // The normal law between -2, -1, 0, 1 and 2, over its share within 2 deviations.
        let (outer, inner) = (0.135_905_12 / 0.954_499_74, 0.341_344_75 / 0.954_499_74);
        assert!(fits(&drawn, &[outer, inner, inner, outer]), "{drawn:?}");
    }
}
