//! Latencies of another process, of which nothing is wanted but to add them to others.
//!
//! Few of a histogram's counts are not zero, and only these are added: to make a whole histogram of
//! what came, and then add all its counts, would take longer.

use crate::Latencies;
use crate::latencies::{DIGITS, Packed};
use serde::Deserialize;

const COOKIE: u32 = 0x1C84_9313;
const LOWEST: u64 = 1;
/// The first count of the last power of two, and one more power.
const INDEX_MAX: u64 = 55 << HALF_BITS;
/// A histogram of three digits has a count for each value below twice this many, and then so many for
/// the values of each further power of two.
const HALF_BITS: u32 = 10;

/// Latencies that can be added to others.
pub trait Samples {
    /// How many there are.
    fn count(&self) -> u64;

    /// Adds all of them.
    fn add_to(&self, total: &mut Latencies);
}

impl Samples for Latencies {
    fn count(&self) -> u64 {
        self.count()
    }

    fn add_to(&self, total: &mut Latencies) {
        total.merge(self);
    }
}

/// Values in nanoseconds and how often each was recorded; the sum and the extremes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "Packed")]
pub struct SparseLatencies {
    counts: Vec<(u64, u64)>,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Samples for SparseLatencies {
    fn count(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    fn add_to(&self, total: &mut Latencies) {
        if !self.counts.is_empty() {
            total.record_all(&self.counts, self.sum_ns, self.min_ns, self.max_ns);
        }
    }
}

impl TryFrom<Packed> for SparseLatencies {
    type Error = String;

    fn try_from((sum_ns, min_ns, max_ns, bytes): Packed) -> Result<Self, String> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let counts = counts_of(&bytes).ok_or("not a histogram of three digits")?;
        Ok(Self { counts, sum_ns, min_ns, max_ns })
    }
}

/// Reads `HdrHistogram`'s V2 format: a header, and numbers of variable length, each of which is the
/// next count or, if it is negative, says how many zeros follow.
fn counts_of(bytes: &[u8]) -> Option<Vec<(u64, u64)>> {
    let (cookie, rest) = bytes.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (normalizing_offset, rest) = rest.split_first_chunk()?;
    let (digits, rest) = rest.split_first_chunk()?;
    let (lowest, rest) = rest.split_first_chunk()?;
    let (_highest, rest) = rest.split_first_chunk::<8>()?;
    let (ratio, mut rest) = rest.split_first_chunk()?;
    let is_known = u32::from_be_bytes(*cookie) == COOKIE
        && u32::from_be_bytes(*length) as usize == rest.len()
        && u32::from_be_bytes(*normalizing_offset) == 0
        && u32::from_be_bytes(*digits) == u32::from(DIGITS)
        && u64::from_be_bytes(*lowest) == LOWEST
        && f64::from_be_bytes(*ratio).to_bits() == 1.0_f64.to_bits();
    if !is_known {
        return None;
    }
    let (mut counts, mut index) = (Vec::with_capacity(rest.len().min(INDEX_MAX as usize)), 0_u64);
    while !rest.is_empty() {
        let number = zigzag(&mut rest)?;
        if number < 0 {
            index = index.checked_add(number.unsigned_abs())?;
            continue;
        }
        if index >= INDEX_MAX {
            return None;
        }
        if number > 0 {
            counts.push((value_of(index), number.unsigned_abs()));
        }
        index += 1;
    }
    Some(counts)
}

/// The lowest value that the count with this index stands for.
fn value_of(index: u64) -> u64 {
    let half = 1 << HALF_BITS;
    if index < 2 * half {
        return index;
    }
    ((index & (half - 1)) + half) << ((index >> HALF_BITS) - 1)
}

/// Takes a signed number: seven bits of a byte as long as the eighth is set, at most nine bytes, of
/// which the last has eight; the sign is the lowest bit.
fn zigzag(rest: &mut &[u8]) -> Option<i64> {
    let mut number = 0_u64;
    for place in 0..9 {
        let (&byte, further) = rest.split_first()?;
        *rest = further;
        let is_last = place == 8 || byte & 0x80 == 0;
        let bits = if place == 8 { byte } else { byte & 0x7F };
        number |= u64::from(bits) << (7 * place);
        if is_last {
            break;
        }
    }
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::{Packed, Samples, SparseLatencies};
    use crate::{Latencies, bars};
    use dbdyno_model::Nanos;
    use proptest::prelude::{any, prop_assert_eq, proptest};
    use serde_bytes::ByteBuf;

    fn recorded(values: &[(u64, u8)]) -> Latencies {
        let mut latencies = Latencies::default();
        for &(ns, times) in values {
            (0..=times).for_each(|_| latencies.record(Nanos(ns)));
        }
        latencies
    }

    #[test]
    fn nothing_is_added_of_nothing() {
        let sparse = SparseLatencies::try_from(Packed::from(Latencies::default())).unwrap();
        let mut total = recorded(&[(5, 0)]);
        sparse.add_to(&mut total);
        assert_eq!(total.distribution(), recorded(&[(5, 0)]).distribution());
    }

    #[test]
    fn what_is_no_histogram_of_three_digits_is_refused() {
        let (_, _, _, bytes) = Packed::from(recorded(&[(5, 0), (1 << 40, 3)]));
        let refused =
            |bytes: Vec<u8>| SparseLatencies::try_from((0, 0, 0, ByteBuf::from(bytes))).is_err();
        assert!(!refused(bytes.to_vec()));
        for place in [0, 7, 11, 15, 23, 32] {
            let mut other = bytes.to_vec();
            other[place] ^= 1;
            assert!(refused(other), "byte {place}");
        }
        assert!(refused(bytes[..bytes.len() - 1].to_vec()));
        assert!(refused(b"rubbish".to_vec()));
    }

    proptest! {
        #[test]
        fn to_add_what_came_is_to_merge_the_whole(
            own in proptest::collection::vec((0_u64..1 << 50, 0..3_u8), 0..50),
            came in proptest::collection::vec((0_u64..1 << 48, any::<u8>()), 0..50),
        ) {
            let (mut merged, other) = (recorded(&own), recorded(&came));
            let mut added = merged.clone();
            merged.merge(&other);
            SparseLatencies::try_from(Packed::from(other)).unwrap().add_to(&mut added);
            prop_assert_eq!(added.distribution(), merged.distribution());
            prop_assert_eq!(bars(&added.serialize()), bars(&merged.serialize()));
        }

        #[test]
        fn rubbish_is_refused_or_read(mut bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let (_, _, _, head) = Packed::from(recorded(&[(5, 0)]));
            let length = bytes.len() as u32;
            bytes.splice(..0, head[..40].iter().copied());
            bytes[4..8].copy_from_slice(&length.to_be_bytes());
            let _ = SparseLatencies::try_from((0, 0, 0, ByteBuf::from(bytes)));
        }
    }
}
