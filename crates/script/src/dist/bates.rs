//! The Bates distribution, densest in the middle: the mean of several uniform draws. sysbench calls
//! it gaussian.

use super::Span;
use dbdyno_model::Stream;

/// Draws from the range as the mean of `draws` uniform draws, at least one.
pub(crate) fn bates(stream: &mut Stream, span: Span, draws: u32) -> i64 {
    span.at(mean(stream, draws))
}

/// The mean of `draws` uniform draws from [0, 1).
pub(super) fn mean(stream: &mut Stream, draws: u32) -> f64 {
    let sum: f64 = (0..draws).map(|_| stream.next_f64()).sum();
    sum / f64::from(draws)
}

#[cfg(test)]
mod tests {
    use super::bates;
    use crate::dist::testing::{counts, fits};

    #[test]
    fn one_draw_is_uniform() {
        assert!(fits(&counts(10, 50_000, |stream, span| bates(stream, span, 1)), &[0.1; 10]));
    }

    #[test]
    fn the_mean_of_two_rises_and_falls_evenly() {
        let drawn = counts(4, 50_000, |stream, span| bates(stream, span, 2));
        assert!(fits(&drawn, &[0.125, 0.375, 0.375, 0.125]), "{drawn:?}");
    }

    #[test]
    fn the_mean_of_twelve_has_the_shares_of_its_polynomial() {
        // The sum of twelve uniforms (Irwin and Hall): its distribution function at 3, 5 and 6
        // is 1/12! times the alternating sum of binomials; at 6 it is a half.
        let drawn = counts(4, 50_000, |stream, span| bates(stream, span, 12));
        let below_3 = (531_441.0 - 12.0 * 4096.0 + 66.0) / 479_001_600.0;
        assert!(fits(&drawn, &[below_3, 0.5 - below_3, 0.5 - below_3, below_3]), "{drawn:?}");
    }
}
