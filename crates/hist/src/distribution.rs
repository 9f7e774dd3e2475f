//! A latency distribution in short, as the frame of an interval has it.
#![allow(missing_docs, reason = "documented in the Python mirror")]

use serde::Serialize;
use serde_bytes::ByteBuf;

/// A latency distribution of one interval; serialized as an array.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(into = "DistributionRow")]
pub struct Distribution {
    pub count: u64,
    pub sum_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p95_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub p9999_ns: u64,
    /// Little-endian (u16 index, u32 count).
    pub buckets: ByteBuf,
}

type DistributionRow = (u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, ByteBuf);

impl Distribution {
    pub(crate) fn new(
        count: u64,
        sum_ns: u64,
        min_ns: u64,
        max_ns: u64,
        percentiles: [u64; 6],
        buckets: &[(u16, u32)],
    ) -> Self {
        let [p50_ns, p90_ns, p95_ns, p99_ns, p999_ns, p9999_ns] = percentiles;
        let mut packed = Vec::with_capacity(buckets.len() * 6);
        for (index, count) in buckets {
            packed.extend_from_slice(&index.to_le_bytes());
            packed.extend_from_slice(&count.to_le_bytes());
        }
        let buckets = ByteBuf::from(packed);
        Self {
            count,
            sum_ns,
            min_ns,
            max_ns,
            p50_ns,
            p90_ns,
            p95_ns,
            p99_ns,
            p999_ns,
            p9999_ns,
            buckets,
        }
    }
}

impl From<Distribution> for DistributionRow {
    fn from(d: Distribution) -> Self {
        (
            d.count, d.sum_ns, d.min_ns, d.max_ns, d.p50_ns, d.p90_ns, d.p95_ns, d.p99_ns,
            d.p999_ns, d.p9999_ns, d.buckets,
        )
    }
}
