//! Reads the few DER elements that are needed of keys and certificates.
//!
//! Knows only tags and lengths, not their meaning.

pub(crate) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const SEQUENCE: u8 = 0x30;

/// The contents of the DER element at the beginning of `bytes`, and the bytes after it.
pub(crate) fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = bytes.split_first_chunk::<2>()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => long_length(rest, usize::from(first & 0x7f))?,
        _ => return None,
    };
    rest.split_at_checked(length)
}

fn long_length(bytes: &[u8], digits: usize) -> Option<(usize, &[u8])> {
    let (digits, rest) = bytes.split_at_checked(digits)?;
    let length = digits.iter().fold(0_usize, |sum, &digit| (sum << 8) | usize::from(digit));
    Some((length, rest))
}
