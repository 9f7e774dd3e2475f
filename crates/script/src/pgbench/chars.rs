//! The names of variables, in expressions and in SQL.

use std::ops::Range;

/// A letter or an underscore; anything outside ASCII counts as a letter.
pub(super) fn is_name_start(c: char) -> bool {
    c == '_' || c.is_ascii_alphabetic() || !c.is_ascii()
}

/// The same, or a digit.
pub(super) fn is_name(c: char) -> bool {
    is_name_start(c) || c.is_ascii_digit()
}

/// Whether the whole text is a valid name of a variable.
pub(super) fn is_valid_name(text: &str) -> bool {
    text.starts_with(is_name_start) && text.chars().all(is_name)
}

/// The first offset from `at` on whose character does not belong.
pub(super) fn skip_while(text: &str, at: usize, belongs: impl Fn(char) -> bool) -> usize {
    text[at..].find(|c| !belongs(c)).map_or(text.len(), |length| at + length)
}

/// Where this part of the text contains `:name`, with exactly one colon.
pub(super) fn mentions(text: &str, span: Range<usize>) -> Vec<Range<usize>> {
    let text = &text[..span.end];
    let mut found = Vec::new();
    let mut at = span.start;
    while let Some(length) = text[at..].find(':') {
        let colon = at + length;
        at = skip_while(text, colon, |c| c == ':');
        if at == colon + 1 && text[at..].starts_with(is_name_start) {
            at = skip_while(text, at, is_name);
            found.push(colon..at);
        }
    }
    found
}
