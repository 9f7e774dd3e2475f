//! Text from a pattern: `#` is a digit, `@` a lower-case letter, any other character stands for
//! itself.

use crate::Stream;

/// Text that matches the pattern, each of its digits and letters drawn uniformly.
pub fn text_by_pattern(pattern: &str, chance: &mut Stream) -> String {
    pattern.chars().map(|symbol| fill_in(symbol, chance)).collect()
}

fn fill_in(symbol: char, chance: &mut Stream) -> char {
    match symbol {
        '#' => char::from(b'0' + chance.up_to(9) as u8),
        '@' => char::from(b'a' + chance.up_to(25) as u8),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::text_by_pattern;
    use crate::{Purpose, Stream};
    use std::collections::HashSet;

    #[test]
    fn every_digit_and_letter_comes_up_and_the_rest_stays() {
        let mut chance = Stream::keyed(1, Purpose::Script, 0, 0);
        let drawn: Vec<String> = (0..500).map(|_| text_by_pattern("#-@ü", &mut chance)).collect();
        let column =
            |place| drawn.iter().filter_map(|t| t.chars().nth(place)).collect::<HashSet<_>>();
        assert_eq!(column(0), ('0'..='9').collect());
        assert_eq!(column(1), HashSet::from(['-']));
        assert_eq!(column(2), ('a'..='z').collect());
        assert!(drawn.iter().all(|t| t.ends_with('ü')));
    }
}
