//! Lower numbers are more likely, by a power law: with parameter `h`, the first `h` of the range
//! gets `1 − h` of the draws (self-similar: Gray and others, SIGMOD 1994).

use super::Span;
use dbdyno_model::Stream;

/// The distribution with its precomputed exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pareto {
    power: f64,
}

impl Pareto {
    /// The distribution for a parameter between 0 and 1.
    pub(crate) fn new(parameter: f64) -> Result<Self, String> {
        if parameter > 0.0 && parameter < 1.0 {
            return Ok(Self { power: parameter.ln() / (1.0 - parameter).ln() });
        }
        Err(format!("a pareto parameter must be between 0 and 1, not {parameter}"))
    }

    /// Draws from the range.
    pub(crate) fn draw(self, stream: &mut Stream, span: Span) -> i64 {
        span.at(stream.next_f64().powf(self.power))
    }
}

#[cfg(test)]
mod tests {
    use super::Pareto;
    use crate::dist::testing::{counts, fits};

    #[test]
    fn a_fifth_of_the_numbers_takes_four_fifths_of_the_draws() {
        let pareto = Pareto::new(0.2).unwrap();
        let drawn = counts(5, 50_000, |stream, span| pareto.draw(stream, span));
        let below = |share: f64| share.powf(0.8_f64.ln() / 0.2_f64.ln());
        let shares: Vec<f64> = (0..5)
            .map(|place| below(f64::from(place + 1) / 5.0) - below(f64::from(place) / 5.0))
            .collect();
        assert!((shares[0] - 0.8).abs() < 1e-9);
        assert!(fits(&drawn, &shares), "{drawn:?}");
    }

    #[test]
    fn a_parameter_outside_of_its_bounds_is_refused() {
        for parameter in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(Pareto::new(parameter).is_err());
        }
    }
}
