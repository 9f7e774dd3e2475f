//! A few numbers in the middle get most draws, all others the rest: sysbench's default until 1.0.
//!
//! Of a range, `hot_percent` around the middle are hot. `hot_draws_percent` of the draws are
//! uniform over those; the others follow the Bates distribution over the whole range. As in
//! sysbench, one uniform draw decides both which part is used and where in the hot part the number
//! falls, so only the upper part of the hot numbers is drawn often.

use super::{Span, bates};
use dbdyno_model::Stream;

/// The shape of the distribution.
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
            return span.low + (bates::mean(stream, self.draws) * width) as i64;
        }
        let hot = width * self.hot_percent / 100.0;
        span.low + (uniform * (hot + 1.0) + width / 2.0 - hot / 2.0) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::Special;
    use crate::dist::testing::counts;

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
}
