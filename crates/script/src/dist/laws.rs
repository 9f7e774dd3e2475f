//! The laws by which numbers are drawn from a range.

use super::Span;
use dbdyno_model::Stream;
use std::f64::consts::TAU;
use std::ops::RangeInclusive;

/// Every number of the range is as likely as any other.
pub(crate) fn uniform(stream: &mut Stream, span: Span) -> i64 {
    span.low + stream.up_to((span.size - 1) as u64) as i64
}

/// Lower numbers are more likely: an exponential density truncated at the range's end.
///
/// With parameter `p` the density falls by the factor `exp(-p)` from the first number to the
/// last; `p` near 0 is uniform.
///
/// The parameter is above 0.
pub(crate) fn exponential(stream: &mut Stream, span: Span, parameter: f64) -> Result<i64, String> {
    if parameter <= 0.0 || parameter.is_nan() {
        return Err(format!("an exponential parameter must be above 0, not {parameter}"));
    }
    let cut = (-parameter).exp();
    let uniform = stream.next_f64_positive();
    Ok(span.at(-(cut + (1.0 - cut) * uniform).ln() / parameter))
}

/// Densest in the middle: a normal density truncated at `parameter` standard deviations on either
/// side and stretched over the range.
///
/// The parameter is at least 2, so that few draws fall outside.
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

/// The Bates distribution, densest in the middle: the mean of `draws` uniform draws, at least one.
/// sysbench calls it gaussian.
pub(crate) fn bates(stream: &mut Stream, span: Span, draws: u32) -> i64 {
    span.at(mean(stream, draws))
}

/// The mean of `draws` uniform draws from [0, 1).
fn mean(stream: &mut Stream, draws: u32) -> f64 {
    let sum: f64 = (0..draws).map(|_| stream.next_f64()).sum();
    sum / f64::from(draws)
}

/// A few numbers in the middle get most draws, all others the rest: sysbench's default until 1.0.
///
/// Of a range, `hot_percent` around the middle are hot. `hot_draws_percent` of the draws are
/// uniform over those; the others follow the Bates distribution over the whole range. As in
/// sysbench, one uniform draw decides both which part is used and where in the hot part the number
/// falls, so only the upper part of the hot numbers is drawn often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Special {
    /// The number of uniform draws whose mean is taken.
    pub(crate) draws: u32,
    /// Share of the range that is hot.
    pub(crate) hot_percent: f64,
    /// Share of the draws that are hot.
    pub(crate) hot_draws_percent: f64,
}

impl Special {
    /// Draws from the range.
    pub(crate) fn draw(&self, stream: &mut Stream, span: Span) -> i64 {
        let width = (span.size - 1) as f64;
        let widened = width * 100.0 / (100.0 - self.hot_draws_percent);
        let uniform = stream.next_f64();
        if uniform * widened < width {
            return span.low + (mean(stream, self.draws) * width) as i64;
        }
        let hot = width * self.hot_percent / 100.0;
        span.low + (uniform * (hot + 1.0) + width / 2.0 - hot / 2.0) as i64
    }
}

/// Lower numbers are more likely, by a power law: with parameter `h`, the first `h` of the range
/// gets `1 − h` of the draws (self-similar: Gray and others, SIGMOD 1994).
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

/// Parameters with which few draws are rejected and all intermediate results are finite.
const ZIPFIAN_PARAMETERS: RangeInclusive<f64> = 1.001..=1000.0;

/// A few numbers get most of the draws: the k-th is drawn with weight `1 / k^s`.
///
/// Drawn by rejection (Devroye, Non-Uniform Random Variate Generation, 1986, pp. 550-551), without
/// a table and without setup time, whatever the size of the range.
pub(crate) fn zipfian(stream: &mut Stream, span: Span, parameter: f64) -> Result<i64, String> {
    if !ZIPFIAN_PARAMETERS.contains(&parameter) {
        let (least, most) = (ZIPFIAN_PARAMETERS.start(), ZIPFIAN_PARAMETERS.end());
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
    use super::{Pareto, Special, bates, exponential, gaussian, uniform, zipfian};
    use crate::dist::testing::{counts, fits};

    #[test]
    fn all_numbers_are_equally_likely() {
        assert!(fits(&counts(10, 50_000, uniform), &[0.1; 10]));
    }

    #[test]
    fn each_number_is_likelier_than_the_next_by_a_constant_factor() {
        let drawn = counts(10, 50_000, |stream, span| exponential(stream, span, 3.0).unwrap());
        let weights: Vec<f64> = (0..10).map(|i| (-0.3 * f64::from(i)).exp()).collect();
        let total: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        assert!(fits(&drawn, &shares), "{drawn:?}");
    }

    #[test]
    fn shares_are_those_of_the_cut_normal_law() {
        let drawn = counts(4, 50_000, |stream, span| gaussian(stream, span, 2.0).unwrap());
        // The normal law between -2, -1, 0, 1 and 2, over its share within 2 deviations.
        let (outer, inner) = (0.135_905_12 / 0.954_499_74, 0.341_344_75 / 0.954_499_74);
        assert!(fits(&drawn, &[outer, inner, inner, outer]), "{drawn:?}");
    }

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

    const SPECIAL: Special = Special { draws: 12, hot_percent: 1.0, hot_draws_percent: 75.0 };

    #[test]
    fn three_quarters_of_the_draws_fall_on_the_hot_hundredth() {
        let drawn = counts(10_001, 100_000, |stream, span| SPECIAL.draw(stream, span));
        // Hot are 5000 ± 50; a quarter of the draws is spread as a bell of deviation 833.
        let hot: u32 = drawn[4950..=5051].iter().sum();
        let from_the_bell = 0.25 * 100_000.0 * 102.0 / (833.3 * std::f64::consts::TAU.sqrt());
        let expected = 75_000.0 + from_the_bell;
        assert!((f64::from(hot) - expected).abs() < 600.0, "{hot} of {expected}");
    }

    #[test]
    fn only_the_upper_part_of_the_hot_numbers_is_drawn_often() {
        let drawn = counts(10_001, 100_000, |stream, span| SPECIAL.draw(stream, span));
        // A uniform draw of at least a quarter chose the hot part: 4950 + 0.25 × 101 is 4975.
        let (lower, upper): (u32, u32) =
            (drawn[4950..4975].iter().sum(), drawn[4976..5001].iter().sum());
        assert!(upper > 10 * lower, "{lower} {upper}");
    }

    #[test]
    fn the_range_is_not_left() {
        for size in [1, 2, 3] {
            let drawn = counts(size, 1000, |stream, span| SPECIAL.draw(stream, span));
            assert_eq!(drawn.iter().sum::<u32>(), 1000);
        }
    }

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
