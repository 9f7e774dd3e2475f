//! Counter-based random numbers: what is drawn depends only on the seed and on what it is drawn
//! for.
//!
//! A stream is not passed from one transaction to the next. Each transaction opens its own, keyed
//! by (seed, purpose, who, number), so the same seed and plan give the same work on any number of
//! threads and hosts, and in whatever order replies arrive.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoroshiro128StarStar;

/// The purpose of a stream: streams of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Which script a transaction runs.
    Choice = 1,
    /// The script's own random numbers.
    Script = 2,
    /// The gaps between arrivals.
    Arrivals = 3,
    /// Think times.
    Think = 4,
    /// Contents of loaded rows.
    Rows = 5,
    /// Pauses before a retry or a reconnect.
    Backoff = 6,
}

/// A stream of random numbers (xoroshiro128**, as pgbench uses).
#[derive(Clone, Debug)]
pub struct Stream(Xoroshiro128StarStar);

impl Stream {
    /// The stream of one purpose for number `number` of `who` (a client, or 0).
    pub fn keyed(seed: u64, purpose: Purpose, who: u64, number: u64) -> Self {
        let a = mix(seed ^ mix(purpose as u64));
        let b = mix(a ^ mix(who));
        let low = mix(b ^ mix(number.wrapping_add(0x9e37_79b9_7f4a_7c15)));
        let high = mix(low.wrapping_add(0x9e37_79b9_7f4a_7c15)) | 1; // never the all-zero state
        let mut state = [0; 16];
        state[..8].copy_from_slice(&low.to_le_bytes());
        state[8..].copy_from_slice(&high.to_le_bytes());
        Self(Xoroshiro128StarStar::from_seed(state))
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), with 52 random bits, as pgbench's `pg_prng_double`.
    #[inline]
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 12) as f64 / (1u64 << 52) as f64
    }

    /// Uniform in (0, 1]: safe to take the logarithm of.
    #[inline]
    pub fn next_f64_positive(&mut self) -> f64 {
        1.0 - self.next_f64()
    }

    /// Uniform in `0..=last`, without bias: masked bits, redrawn while too large.
    #[inline]
    pub fn up_to(&mut self, last: u64) -> u64 {
        let mask = u64::MAX.checked_shr(last.leading_zeros()).unwrap_or(0);
        loop {
            let drawn = self.next_u64() & mask;
            if drawn <= last {
                return drawn;
            }
        }
    }
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection that decorrelates
/// neighbouring inputs.
const fn mix(input: u64) -> u64 {
    let a = (input ^ (input >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    b ^ (b >> 31)
}

#[cfg(test)]
mod tests {
    use super::{Purpose, Stream};

    #[test]
    fn a_stream_depends_on_every_part_of_its_key() {
        let first =
            |seed, purpose, who, number| Stream::keyed(seed, purpose, who, number).next_u64();
        let base = first(1, Purpose::Script, 2, 3);
        assert_eq!(base, first(1, Purpose::Script, 2, 3));
        for other in [
            first(2, Purpose::Script, 2, 3),
            first(1, Purpose::Choice, 2, 3),
            first(1, Purpose::Script, 3, 3),
            first(1, Purpose::Script, 2, 4),
            first(1, Purpose::Script, 3, 2),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn first_draws_of_consecutive_numbers_are_uniform() {
        let mut counts = [0_u32; 10];
        for number in 0..100_000 {
            let mut stream = Stream::keyed(7, Purpose::Script, 0, number);
            counts[stream.up_to(9) as usize] += 1;
        }
        // Chi-square with 9 degrees of freedom: 27.9 is exceeded once in a thousand.
        let chi: f64 = counts.iter().map(|&n| (f64::from(n) - 1e4).powi(2) / 1e4).sum();
        assert!(chi < 27.9, "{counts:?}");
    }

    #[test]
    fn up_to_reaches_both_ends() {
        let mut stream = Stream::keyed(1, Purpose::Script, 0, 0);
        let drawn: Vec<u64> = (0..200).map(|_| stream.up_to(2)).collect();
        assert!(drawn.contains(&0) && drawn.contains(&2));
        assert_eq!(stream.up_to(0), 0);
        stream.up_to(u64::MAX);
    }
}
