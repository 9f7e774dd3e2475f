//! What `math.random` draws from after `math.randomseed`: LuaJIT's own generator.
//!
//! A script that seeds each client wants a sequence that it can repeat: in its next run, in another
//! client, or under sysbench. So the numbers are LuaJIT's, bit for bit, and depend on that seed
//! alone: a Tausworthe generator with a period of 2^223 (`lj_prng.c`, `lib_math.c`).

/// The steps of the four parts: k, q and s of L'Ecuyer's notation.
const PARTS: [(u32, u32, u32); 4] = [(63, 31, 18), (58, 19, 28), (55, 24, 7), (47, 21, 8)];

/// Numbers that LuaJIT discards after seeding.
const DISCARDED: u32 = 10;

/// A generator with its state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeded([u64; 4]);

impl Seeded {
    #[expect(clippy::suboptimal_flops, reason = "LuaJIT rounds after the multiplication")]
    pub(super) fn new(seed: f64) -> Self {
        let mut number = seed;
        let mut generator = Self(PARTS.map(|(k, ..)| {
            number = number * std::f64::consts::PI + std::f64::consts::E;
            // The highest k bits must not all be 0.
            let least = 1 << (64 - k);
            let bits = number.to_bits();
            if bits < least { bits + least } else { bits }
        }));
        for _ in 0..DISCARDED {
            generator.next_fraction();
        }
        generator
    }

    /// A number in [0, 1), of 52 bits.
    pub(super) fn next_fraction(&mut self) -> f64 {
        let mut drawn = 0;
        for (state, (k, q, s)) in self.0.iter_mut().zip(PARTS) {
            let old = *state;
            *state = (((old << q) ^ old) >> (k - s)) ^ ((old & (u64::MAX << (64 - k))) << s);
            drawn ^= *state;
        }
        f64::from_bits((drawn & (u64::MAX >> 12)) | 1.0_f64.to_bits()) - 1.0
    }
}
