//! Lower numbers are more likely: an exponential density truncated at the range's end.
//!
//! With parameter `p` the density falls by the factor `exp(-p)` from the first number to the
//! last; `p` near 0 is uniform.

use super::Span;
use dbdyno_model::Stream;

/// Draws from the range. The parameter is above 0.
pub(crate) fn exponential(stream: &mut Stream, span: Span, parameter: f64) -> Result<i64, String> {
    if parameter <= 0.0 || parameter.is_nan() {
        return Err(format!("an exponential parameter must be above 0, not {parameter}"));
    }
    let cut = (-parameter).exp();
    let uniform = stream.next_f64_positive();
    Ok(span.at(-(cut + (1.0 - cut) * uniform).ln() / parameter))
}

#[cfg(test)]
mod tests {
    use super::exponential;
    use crate::dist::testing::{counts, fits};

    #[test]
    fn each_number_is_likelier_than_the_next_by_a_constant_factor() {
        let drawn = counts(10, 50_000, |stream, span| exponential(stream, span, 3.0).unwrap());
        let weights: Vec<f64> = (0..10).map(|i| (-0.3 * f64::from(i)).exp()).collect();
        let total: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        assert!(fits(&drawn, &shares), "{drawn:?}");
    }
}
