//! Every number of the range is as likely as any other.

use super::Span;
use dbdyno_model::Stream;

/// Draws from the range.
pub(crate) fn uniform(stream: &mut Stream, span: Span) -> i64 {
    span.low + stream.up_to((span.size - 1) as u64) as i64
}

#[cfg(test)]
mod tests {
    use super::uniform;
    use crate::dist::testing::{counts, fits};

    #[test]
    fn all_numbers_are_equally_likely() {
        assert!(fits(&counts(10, 50_000, uniform), &[0.1; 10]));
    }
}
