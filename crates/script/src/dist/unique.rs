//! 32-bit numbers without repetition, in an order that looks random.
//!
//! The position in a sequence is mapped by a bijection: squares modulo a prime are distinct up to
//! half of it, their negatives fill the other half (Preshing 2012, on quadratic residues).

/// The largest 32-bit prime that leaves the remainder 3 when divided by 4.
const PRIME: u32 = 4_294_967_291;

/// One client's share of the sequence: every `step`-th position, so that clients never collide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unique {
    place: u32,
    step: u32,
    offset: u32,
}

impl Unique {
    /// The share of client `client` of `clients`; the seed chooses the order.
    pub(crate) fn new(client: u32, clients: u32, seed: u64) -> Self {
        let (start, offset) = (seed as u32, (seed >> 32) as u32);
        Self {
            place: scatter(start).wrapping_add(client),
            step: clients,
            offset: scatter(scatter(offset).wrapping_add(0x4679_0905)),
        }
    }

    /// The next number. Numbers repeat only when all 2³² of the sequence have been drawn.
    pub(crate) fn next(&mut self) -> u32 {
        let place = self.place;
        self.place = self.place.wrapping_add(self.step);
        scatter(scatter(place).wrapping_add(self.offset) ^ 0x5bf0_3635)
    }
}

/// A bijection of the 32-bit numbers; the few above the prime map to themselves.
fn scatter(number: u32) -> u32 {
    if number >= PRIME {
        return number;
    }
    let square = u64::from(number) * u64::from(number) % u64::from(PRIME);
    let residue = square as u32; // below the prime
    if number <= PRIME / 2 { residue } else { PRIME - residue }
}

#[cfg(test)]
mod tests {
    use super::Unique;
    use std::collections::HashSet;

    #[test]
    fn no_number_comes_twice_over_all_clients() {
        let drawn: Vec<u32> = (0..3)
            .flat_map(|client| {
                let mut unique = Unique::new(client, 3, 0x1234_5678_9abc_def0);
                (0..50_000).map(move |_| unique.next())
            })
            .collect();
        assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), drawn.len());
    }

    #[test]
    fn numbers_are_spread_over_the_whole_range() {
        let mut unique = Unique::new(0, 1, 7);
        let mut counts = [0_u32; 8];
        for _ in 0..80_000 {
            counts[(unique.next() >> 29) as usize] += 1;
        }
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 500), "{counts:?}");
    }

    #[test]
    fn the_seed_chooses_the_order() {
        assert_ne!(Unique::new(0, 1, 1).next(), Unique::new(0, 1, 2).next());
    }
}
