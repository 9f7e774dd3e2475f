//! A latency histogram, with the exact count, sum and extremes.

use crate::Distribution;
use dbdyno_model::Nanos;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// Significant decimal digits of every percentile.
pub(crate) const DIGITS: u8 = 3;

/// The percentiles of every interval, in the order of [`Distribution`].
const QUANTILES: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// Latencies in nanoseconds with three significant digits; grows as needed. Passed between
/// processes without any loss.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Packed", try_from = "Packed")]
pub struct Latencies {
    histogram: Histogram<u64>,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        let histogram = Histogram::new(DIGITS).expect("three digits are allowed");
        Self { histogram, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Latencies {
    /// Records a latency.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        let Nanos(ns) = latency;
        // Each doubling of the maximum costs 8 KiB: a latency of hours, of which an overloaded open
        // loop has many, takes little more than one of seconds.
        self.histogram.record(ns).expect("an auto-resizing histogram grows");
        self.sum_ns += ns;
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("an auto-resizing histogram takes any other");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Adds latencies: each as often as is said, their sum and their extremes.
    pub(crate) fn record_all(
        &mut self,
        counts: &[(u64, u64)],
        sum_ns: u64,
        min_ns: u64,
        max_ns: u64,
    ) {
        // The largest first: it grows once.
        for &(ns, count) in counts.iter().rev() {
            self.histogram.record_n(ns, count).expect("an auto-resizing histogram grows");
        }
        self.sum_ns += sum_ns;
        self.min_ns = self.min_ns.min(min_ns);
        self.max_ns = self.max_ns.max(max_ns);
    }

    /// Removes all values, keeping the memory.
    pub fn clear(&mut self) {
        self.histogram.reset();
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
    }

    /// The memory that its counts take, in bytes.
    pub fn bytes(&self) -> usize {
        self.histogram.distinct_values() * size_of::<u64>()
    }

    /// The number of recorded values.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The latency that a share `q` of all values does not exceed; zero when there are none.
    pub fn quantile(&self, q: f64) -> Nanos {
        Nanos(self.histogram.value_at_quantile(q).min(self.max_ns))
    }

    /// The summary for an interval's frame, computed in one pass over the recorded values.
    pub fn distribution(&self) -> Distribution {
        let count = self.count();
        if count == 0 {
            return Distribution::default();
        }
        let ranks = QUANTILES.map(|q| (q * count as f64).ceil() as u64);
        let mut percentiles = [self.max_ns; QUANTILES.len()];
        let mut reached = 0;
        let mut seen = 0;
        let mut buckets: Vec<(u16, u32)> = Vec::new();
        for step in self.histogram.iter_recorded() {
            let ns = step.value_iterated_to();
            seen += step.count_since_last_iteration();
            while reached < ranks.len() && seen >= ranks[reached] {
                percentiles[reached] = ns.min(self.max_ns);
                reached += 1;
            }
            add_to_bucket(&mut buckets, bucket_of(ns), step.count_since_last_iteration());
        }
        Distribution::new(count, self.sum_ns, self.min_ns, self.max_ns, percentiles, &buckets)
    }

    /// The whole histogram in `HdrHistogram`'s V2 format with DEFLATE.
    pub fn serialize(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.histogram, &mut bytes)
            .expect("writing to memory does not fail");
        bytes
    }
}

/// The sum and the extremes, and all values in `HdrHistogram`'s V2 format; no bytes for no values.
pub(crate) type Packed = (u64, u64, u64, ByteBuf);

impl From<Latencies> for Packed {
    fn from(latencies: Latencies) -> Self {
        let mut bytes = Vec::new();
        if latencies.count() > 0 {
            V2Serializer::new()
                .serialize(&latencies.histogram, &mut bytes)
                .expect("writing to memory does not fail");
        }
        (latencies.sum_ns, latencies.min_ns, latencies.max_ns, ByteBuf::from(bytes))
    }
}

impl TryFrom<Packed> for Latencies {
    type Error = String;

    fn try_from((sum_ns, min_ns, max_ns, bytes): Packed) -> Result<Self, String> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let mut histogram: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| format!("not a histogram: {error}"))?;
        if histogram.sigfig() != DIGITS {
            return Err(format!("a histogram of {} digits", histogram.sigfig()));
        }
        histogram.auto(true);
        Ok(Self { histogram, sum_ns, min_ns, max_ns })
    }
}

fn add_to_bucket(buckets: &mut Vec<(u16, u32)>, index: u16, count: u64) {
    match buckets.last_mut() {
        Some(last) if last.0 == index => last.1 += count as u32,
        _ => buckets.push((index, count as u32)),
    }
}

/// Eight buckets per octave, which is enough for drawing.
fn bucket_of(ns: u64) -> u16 {
    if ns < 8 {
        return ns as u16;
    }
    let octave = ns.ilog2();
    ((octave - 2) * 8) as u16 + ((ns >> (octave - 3)) & 7) as u16
}

#[cfg(test)]
mod tests {
    use super::{Latencies, Packed, bucket_of};
    use dbdyno_model::Nanos;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use serde_bytes::ByteBuf;

    fn bucket_begin(index: u64) -> u64 {
        if index < 8 { index } else { (8 + index % 8) << (index / 8 - 1) }
    }

    #[test]
    fn percentiles_of_a_known_series() {
        let mut latencies = Latencies::default();
        for ns in 1..=1000 {
            latencies.record(Nanos(ns));
        }
        let summary = latencies.distribution();
        assert_eq!((summary.count, summary.sum_ns), (1000, 500_500));
        assert_eq!((summary.min_ns, summary.max_ns), (1, 1000));
        assert_eq!((summary.p50_ns, summary.p99_ns, summary.p9999_ns), (500, 990, 1000));
    }

    #[test]
    fn a_backlog_of_hours_has_percentiles() {
        let mut latencies = Latencies::default();
        let hours = |hours: u64| Nanos::from_secs(hours * 3600);
        (1..=8).for_each(|each| latencies.record(hours(each)));
        for estimate in [Nanos(latencies.distribution().p50_ns), latencies.quantile(0.5)] {
            assert!(estimate.0.abs_diff(hours(4).0) <= hours(4).0 / 1000, "{estimate:?}");
        }
    }

    #[test]
    fn merging_and_clearing() {
        let (mut a, mut b) = (Latencies::default(), Latencies::default());
        a.record(Nanos(10));
        b.record(Nanos(2_000_000_000));
        a.merge(&b);
        assert_eq!(a.count(), 2);
        assert_eq!(a.distribution().max_ns, 2_000_000_000);
        a.clear();
        assert_eq!(a.distribution(), crate::Distribution::default());
    }

    #[test]
    fn latencies_of_other_precision_are_refused() {
        let mut bytes = Vec::new();
        let coarse = Histogram::<u64>::new(2).unwrap();
        V2Serializer::new().serialize(&coarse, &mut bytes).unwrap();
        for bytes in [bytes, b"rubbish".to_vec()] {
            assert!(Latencies::try_from((0, 0, 0, ByteBuf::from(bytes))).is_err());
        }
    }

    proptest! {
        #[test]
        fn passing_them_on_loses_nothing(values in proptest::collection::vec(1_u64..10_000_000_000, 0..200)) {
            let mut latencies = Latencies::default();
            for &ns in &values {
                latencies.record(Nanos(ns));
            }
            let mut passed = Latencies::try_from(Packed::from(latencies.clone())).unwrap();
            prop_assert_eq!(&passed.histogram, &latencies.histogram);
            let later = Nanos::from_secs(1 << 20);
            passed.record(later);
            latencies.record(later);
            prop_assert_eq!(passed.distribution(), latencies.distribution());
        }

        #[test]
        fn a_value_lies_in_its_bucket(ns in 0_u64..(1 << 50)) {
            let index = u64::from(bucket_of(ns));
            prop_assert!(bucket_begin(index) <= ns && ns < bucket_begin(index + 1));
        }

        #[test]
        fn quantiles_are_true_to_three_digits(mut values in proptest::collection::vec(1_u64..10_000_000_000, 1..200)) {
            let mut latencies = Latencies::default();
            for &ns in &values {
                latencies.record(Nanos(ns));
            }
            values.sort_unstable();
            let exact = values[(values.len() * 99).div_ceil(100) - 1] as f64;
            let estimate = latencies.distribution().p99_ns as f64;
            prop_assert!((estimate - exact).abs() <= exact / 1000.0, "{estimate} against {exact}");
        }
    }
}
