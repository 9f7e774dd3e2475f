//! A pseudorandom permutation of `0..size`, bit for bit the same as in pgbench since version 15.
//!
//! Six rounds, each a bijection of the range: an odd multiplication, an exclusive or and a
//! rotation on the largest power of two that fits at the bottom, the same at the top, and a
//! random offset round the whole. What each round draws depends on the seed alone.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoroshiro128StarStar;

const ROUNDS: u32 = 6;

/// The image of `number` (modulo `size`). The size is above 0.
pub fn permute(number: i64, size: i64, seed: i64) -> Result<i64, String> {
    if size <= 0 {
        return Err(format!("the size of a permutation must be above 0, not {size}"));
    }
    if size == 1 {
        return Ok(0);
    }
    let size = size as u64;
    let mut generator = Xoroshiro128StarStar::seed_from_u64(seed as u64);
    let mut place = (number as u64) % size;
    for _ in 0..ROUNDS {
        place = round(&mut generator, place, size);
    }
    Ok(place as i64)
}

/// One round, on a range of at least two.
fn round(generator: &mut Xoroshiro128StarStar, place: u64, size: u64) -> u64 {
    let bits = size.ilog2();
    let from_below = stir(generator, place, bits);
    let from_above = stir(generator, size - 1 - from_below, bits);
    let offset = up_to(generator, size - 1);
    // The sum of two numbers below 2^63 does not overflow.
    (size - 1 - from_above + offset) % size
}

/// Permutes the numbers below `2^bits` and leaves the others; draws in either case.
fn stir(generator: &mut Xoroshiro128StarStar, number: u64, bits: u32) -> u64 {
    let mask = (1 << bits) - 1;
    let factor = (generator.next_u64() & mask) | 1;
    let flip = generator.next_u64() & mask;
    if number > mask {
        return number;
    }
    let mixed = (number.wrapping_mul(factor) ^ flip) & mask;
    ((mixed << 1) & mask) | (mixed >> (bits - 1))
}

/// Uniform in `0..=last`, from the generator's high bits.
fn up_to(generator: &mut Xoroshiro128StarStar, last: u64) -> u64 {
    let shift = last.leading_zeros();
    loop {
        let drawn = generator.next_u64() >> shift;
        if drawn <= last {
            return drawn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::permute;

    #[test]
    fn every_size_is_permuted_whole() {
        for size in 1..=130 {
            let mut image: Vec<i64> =
                (0..size).map(|number| permute(number, size, 5).unwrap()).collect();
            image.sort_unstable();
            assert_eq!(image, (0..size).collect::<Vec<i64>>());
        }
    }
}
