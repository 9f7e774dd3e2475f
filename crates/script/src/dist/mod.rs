//! The distributions that scripts draw numbers from, as defined by pgbench and sysbench.
//!
//! The distributions are the same, the numbers are not: pgbench seeds a generator per client, we
//! seed a stream per transaction. Deterministic functions (`hash`, `permute`) give the same bits.

mod hash;
mod laws;
mod permute;
mod tpc;
mod unique;
mod zipf;

pub use hash::fnv1a;
pub(crate) use hash::murmur2;
pub(crate) use laws::{Pareto, Special, bates, exponential, gaussian, uniform, zipfian};
pub use permute::permute;
pub use tpc::{last_name, non_uniform, random_text};
pub(crate) use unique::Unique;
pub use zipf::Zipf;

/// A range of integers, both ends included, whose size fits in 63 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    low: i64,
    size: i64,
}

impl Span {
    /// The range, unless it is empty or too wide.
    pub fn new(low: i64, high: i64) -> Result<Self, String> {
        if low > high {
            return Err(format!("the range from {low} to {high} is empty"));
        }
        match high.checked_sub(low).and_then(|width| width.checked_add(1)) {
            Some(size) => Ok(Self { low, size }),
            None => Err(format!("the range from {low} to {high} is too wide")),
        }
    }

    /// The number at `fraction` of the range, which lies in [0, 1).
    fn at(self, fraction: f64) -> i64 {
        let steps = (self.size as f64 * fraction) as i64;
        // Rounding can move a fraction close to 1 beyond the end of a wide range.
        self.low + steps.clamp(0, self.size - 1)
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::Span;
    use dbdyno_model::{Purpose, Stream};

    /// How often each number of `0..size` is drawn.
    pub(crate) fn counts(
        size: i64,
        draws: u32,
        law: impl Fn(&mut Stream, Span) -> i64,
    ) -> Vec<u32> {
        let span = Span::new(10, 9 + size).unwrap();
        let mut stream = Stream::keyed(1, Purpose::Script, 0, 0);
        let mut counts = vec![0; size as usize];
        for _ in 0..draws {
            counts[(law(&mut stream, span) - 10) as usize] += 1;
        }
        counts
    }

    /// Whether the counts are consistent with these shares: chi-square below the value that is
    /// exceeded once in ten thousand (Wilson and Hilferty's approximation).
    pub(crate) fn fits(counts: &[u32], shares: &[f64]) -> bool {
        let total = f64::from(counts.iter().sum::<u32>());
        let chi: f64 = counts
            .iter()
            .zip(shares)
            .map(|(&count, share)| (f64::from(count) - total * share).powi(2) / (total * share))
            .sum();
        let freedom = (counts.len() - 1) as f64;
        let spread = 2.0 / (9.0 * freedom);
        chi < freedom * (1.0 - spread + 3.719 * spread.sqrt()).powi(3)
    }
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn a_span_is_neither_empty_nor_wider_than_63_bits() {
        assert!(Span::new(1, 0).is_err());
        assert!(Span::new(0, i64::MAX).is_err());
        assert!(Span::new(i64::MIN, i64::MAX).is_err());
        assert_eq!(Span::new(1, i64::MAX).map(|span| span.size), Ok(i64::MAX));
        assert_eq!(Span::new(7, 7).map(|span| span.at(0.999)), Ok(7));
    }

    #[test]
    fn rounding_does_not_leave_a_wide_span() {
        let span = Span::new(1, i64::MAX).unwrap();
        assert_eq!(span.at(0.0), 1);
        assert_eq!(span.at(1.0), i64::MAX);
    }
}
