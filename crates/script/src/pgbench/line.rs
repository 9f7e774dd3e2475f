//! The line of a meta-command: its end, its white space, its words.
//!
//! A backslash at the very end of a line joins the next one to it.

use std::ops::Range;

/// The end of the meta-command that continues at `at`: the end of its line, or of a later one when
/// lines are joined by a backslash at the end.
pub(super) fn end(text: &str, at: usize) -> usize {
    let mut from = at;
    loop {
        let Some(newline) = text[from..].find('\n').map(|length| from + length) else {
            return text.len();
        };
        let line = text[at..newline].strip_suffix('\r').unwrap_or(&text[at..newline]);
        if !line.ends_with('\\') {
            return newline;
        }
        from = newline + 1;
    }
}

/// The words of a meta-command.
pub(super) fn words(text: &str, span: Range<usize>) -> Vec<Range<usize>> {
    let text = &text[..span.end];
    let mut words = Vec::new();
    let mut at = skip_blanks(text, span.start);
    while at < text.len() {
        let end = word_end(text, at);
        words.push(at..end);
        at = skip_blanks(text, end);
    }
    words
}

/// A word ends at white space, and at a backslash that joins lines. It has at least one character.
fn word_end(text: &str, at: usize) -> usize {
    let ends = |(index, c): (usize, char)| {
        (index > 0 && (is_blank(c) || c == '\n' || skip_blanks(text, at + index) > at + index))
            .then_some(at + index)
    };
    text[at..].char_indices().find_map(ends).unwrap_or(text.len())
}

/// The offset after white space and joined line ends.
pub(super) fn skip_blanks(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        at += if rest.starts_with(is_blank) {
            1
        } else if rest.starts_with("\\\n") {
            2
        } else if rest.starts_with("\\\r\n") {
            3
        } else {
            return at;
        };
    }
}

/// White space that does not end a meta-command.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\x0b' | '\x0c')
}
