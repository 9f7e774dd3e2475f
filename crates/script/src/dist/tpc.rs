//! What the TPC's benchmarks draw: numbers of which some are more frequent, names, random text.

use dbdyno_model::Stream;

/// The syllables of TPC-C's last names, by digit.
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// `NURand(a, low, high)` with the constant `c`.
pub fn non_uniform(chance: &mut Stream, a: u64, c: u64, low: i64, high: i64) -> i64 {
    let size = high.wrapping_sub(low) as u64;
    let mixed = chance.up_to(a) | low.wrapping_add(chance.up_to(size) as i64) as u64;
    low.wrapping_add((mixed.wrapping_add(c) % size.saturating_add(1)) as i64)
}

/// The last name of a number: its three last digits as syllables.
pub fn last_name(number: i64) -> String {
    [100, 10, 1].map(|unit| SYLLABLES[(number / unit).rem_euclid(10) as usize]).concat()
}

/// Random text of this length, which contains a word at a random place if it is not empty. Several
/// characters come from one random number.
pub fn random_text(chance: &mut Stream, length: usize, symbols: &[u8], containing: &str) -> String {
    let last = symbols.len().saturating_sub(1) as u64;
    let bits = (u64::BITS - last.leading_zeros()).max(1);
    let mut text = String::with_capacity(length);
    let room = length.saturating_sub(containing.len());
    let place = chance.up_to(room as u64) as usize;
    let (mut pool, mut left) = (0, 0);
    while text.len() < length {
        if text.len() == place && !containing.is_empty() && room > 0 {
            text.push_str(containing);
            continue;
        }
        if left < bits {
            (pool, left) = (chance.next_u64(), u64::BITS);
        }
        let drawn = pool & ((1 << bits) - 1);
        (pool, left) = (pool >> bits, left - bits);
        if drawn <= last {
            text.push(char::from(symbols.get(drawn as usize).copied().unwrap_or(b' ')));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{last_name, non_uniform, random_text};
    use crate::dist::testing::{counts, fits};
    use dbdyno_model::{Purpose, Stream};

    #[test]
    fn set_bits_are_three_times_as_frequent() {
        let drawn = counts(4, 40_000, |stream, _| 10 + non_uniform(stream, 3, 0, 0, 3));
        assert!(fits(&drawn, &[1.0 / 16.0, 3.0 / 16.0, 3.0 / 16.0, 9.0 / 16.0]), "{drawn:?}");
    }

    #[test]
    fn names_are_those_of_the_definition() {
        assert_eq!([last_name(0), last_name(371)], ["BARBARBAR", "PRICALLYOUGHT"]);
    }

    #[test]
    fn text_has_its_length_and_its_word() {
        let mut chance = Stream::keyed(1, Purpose::Script, 0, 0);
        for length in [0, 1, 26, 50] {
            assert_eq!(random_text(&mut chance, length, b"xyz", "").len(), length);
        }
        let text = random_text(&mut chance, 26, b"xyz", "ORIGINAL");
        assert!(text.len() == 26 && text.contains("ORIGINAL"), "{text}");
    }
}
