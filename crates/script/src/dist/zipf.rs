//! A few numbers get most of the draws: the k-th is drawn with weight `1 / k^s`, for any exponent
//! `s` from 0 on.
//!
//! Drawn by rejection-inversion (Hörmann and Derflinger, Rejection-inversion to generate variates
//! from monotone discrete distributions, ACM TOMACS 6.3, 1996): the sum of the weights is inverted
//! as if it were an integral, and the resulting error is corrected by rejection. pgbench's
//! rejection method, in `zipfian`, needs an exponent above 1.

use super::Span;
use dbdyno_model::Stream;

/// The distribution with what depends only on its exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zipf {
    exponent: f64,
    /// Where the integral of the hat function begins.
    begin: f64,
    /// A point within this distance of its integer is accepted without further computation.
    squeeze: f64,
}

impl Zipf {
    /// The distribution for an exponent that is not negative.
    pub fn new(exponent: f64) -> Result<Self, String> {
        if exponent.is_nan() || exponent < 0.0 {
            return Err(format!("a zipfian exponent must be at least 0, not {exponent}"));
        }
        let mut law = Self { exponent, begin: 0.0, squeeze: 0.0 };
        law.begin = law.integral(1.5) - 1.0;
        law.squeeze = 2.0 - law.inverse(law.integral(2.5) - law.weight(2.0));
        Ok(law)
    }

    /// Draws from the range.
    pub fn draw(&self, stream: &mut Stream, span: Span) -> i64 {
        let ranks = span.size as f64;
        let end = self.integral(ranks + 0.5);
        loop {
            let area = end + stream.next_f64() * (self.begin - end);
            let point = self.inverse(area);
            let rank = (point + 0.5).floor().clamp(1.0, ranks);
            let is_close = rank - point <= self.squeeze;
            if is_close || area >= self.integral(rank + 0.5) - self.weight(rank) {
                return span.low + (rank as i64 - 1).min(span.size - 1);
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of the weight from 1 to `x`.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        over_argument(f64::exp_m1, (1.0 - self.exponent) * log) * log
    }

    /// The inverse of the integral.
    fn inverse(&self, area: f64) -> f64 {
        // Rounding must not move the argument below the pole of the logarithm.
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        (over_argument(f64::ln_1p, scaled) * area).exp()
    }
}

/// `function(x) / x`, which tends to 1 at 0 for both functions used here.
fn over_argument(function: fn(f64) -> f64, x: f64) -> f64 {
    if x.abs() < 1e-8 { 1.0 } else { function(x) / x }
}

#[cfg(test)]
mod tests {
    use super::Zipf;
    use crate::dist::testing::{counts, fits};

    #[test]
    fn shares_fall_with_the_power_of_the_rank() {
        for exponent in [0.0, 0.5, 0.8, 1.0, 1.5, 3.0] {
            let law = Zipf::new(exponent).unwrap();
            let drawn = counts(8, 50_000, |stream, span| law.draw(stream, span));
            let weights: Vec<f64> = (1..=8).map(|rank| f64::from(rank).powf(-exponent)).collect();
            let total: f64 = weights.iter().sum();
            let shares: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
            assert!(fits(&drawn, &shares), "{exponent}: {drawn:?}");
        }
    }

    #[test]
    fn a_range_of_one_has_one_number() {
        let law = Zipf::new(0.8).unwrap();
        assert_eq!(counts(1, 100, |stream, span| law.draw(stream, span)), [100]);
    }

    #[test]
    fn a_negative_exponent_is_refused() {
        assert!(Zipf::new(-0.1).is_err() && Zipf::new(f64::NAN).is_err());
    }
}
