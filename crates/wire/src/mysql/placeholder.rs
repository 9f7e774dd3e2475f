//! Translates a statement's `$1`, `$2`, … to MySQL's `?`.
//!
//! MySQL numbers its parameters by position: one that is used twice is sent twice, in the order of
//! the text. Parameters inside strings, quoted names and comments are not replaced, and a text that
//! already uses `?` is left unchanged.

/// A statement with MySQL's placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Translated {
    pub(super) sql: Vec<u8>,
    /// For each `?` in order: the index of the request's parameter, from 0.
    pub(super) order: Vec<u16>,
}

/// A statement's text as it is prepared, with `?` for its parameters.
pub fn as_prepared(sql: &str) -> String {
    String::from_utf8_lossy(&translate(sql).sql).into_owned()
}

pub(super) fn translate(sql: &str) -> Translated {
    let mut rest = sql.as_bytes();
    let mut translated = Translated { sql: Vec::with_capacity(rest.len()), order: Vec::new() };
    while !rest.is_empty() {
        let piece = Piece::of(rest, &translated.sql);
        translated.take(piece, &rest[..piece.bytes()]);
        rest = &rest[piece.bytes()..];
    }
    translated
}

impl Translated {
    fn take(&mut self, piece: Piece, text: &[u8]) {
        match piece {
            Piece::Numbered { parameter, .. } => self.order.push(parameter),
            Piece::Placeholder => self.order.push(self.order.len() as u16),
            Piece::Other(_) => return self.sql.extend_from_slice(text),
        }
        self.sql.push(b'?');
    }
}

/// The next part of the text.
#[derive(Clone, Copy)]
enum Piece {
    /// `$n`, of this many bytes.
    Numbered { parameter: u16, bytes: usize },
    /// `?`
    Placeholder,
    /// This many bytes without a parameter.
    Other(usize),
}

impl Piece {
    fn of(rest: &[u8], before: &[u8]) -> Self {
        match rest {
            [b'?', ..] => Self::Placeholder,
            [b'$', ..] if !before.last().is_some_and(|&byte| is_name(byte)) => {
                Self::numbered(rest).unwrap_or(Self::Other(1))
            }
            [b'\'' | b'"' | b'`', ..] => Self::Other(quoted_bytes(rest)),
            [b'#', ..] => Self::Other(up_to(rest, 1, b"\n")),
            [b'-', b'-', b' ' | b'\t' | b'\r' | b'\n', ..] => Self::Other(up_to(rest, 2, b"\n")),
            // What follows `/*!` is not a comment to MySQL.
            [b'/', b'*', third, ..] if *third != b'!' => Self::Other(up_to(rest, 2, b"*/")),
            _ => Self::Other(1),
        }
    }

    fn numbered(rest: &[u8]) -> Option<Self> {
        let digits = rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number: u16 = std::str::from_utf8(&rest[1..=digits]).ok()?.parse().ok()?;
        Some(Self::Numbered { parameter: number.checked_sub(1)?, bytes: 1 + digits })
    }

    fn bytes(self) -> usize {
        match self {
            Self::Numbered { bytes, .. } | Self::Other(bytes) => bytes,
            Self::Placeholder => 1,
        }
    }
}

/// Whether a `$` after this byte is part of a name.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@' | 0x80..)
}

/// The length of a string or quoted name, quotes included. A doubled quote can be read as two
/// strings.
fn quoted_bytes(rest: &[u8]) -> usize {
    let quote = rest[0];
    let mut at = 1;
    while let Some(&byte) = rest.get(at) {
        at += 1;
        if byte == quote {
            break;
        }
        if byte == b'\\' && quote != b'`' {
            at += 1;
        }
    }
    at.min(rest.len())
}

/// The length of a comment, its opening and its end included; or all of the text.
fn up_to(rest: &[u8], opening: usize, end: &[u8]) -> usize {
    let found = rest[opening..].windows(end.len()).position(|window| window == end);
    found.map_or(rest.len(), |at| opening + at + end.len())
}

#[cfg(test)]
mod tests {
    use super::translate;

    fn check(sql: &str, expected: &str, order: &[u16]) {
        let translated = translate(sql);
        assert_eq!(String::from_utf8_lossy(&translated.sql), expected);
        assert_eq!(translated.order, order, "{sql}");
    }

    #[test]
    fn parameters_are_taken_in_the_order_of_the_text() {
        check("select 1", "select 1", &[]);
        check("set a = $1 where b = $2", "set a = ? where b = ?", &[0, 1]);
        check("set a = $2 where b = $1 or c=$2", "set a = ? where b = ? or c=?", &[1, 0, 1]);
        check("$12+$1", "?+?", &[11, 0]);
        check("id = ? and k = ?", "id = ? and k = ?", &[0, 1]);
    }

    #[test]
    fn names_strings_and_comments_are_left_alone() {
        for sql in [
            "select a$1, @$1, $a, $0, $, $99999999999",
            "select 'it''s $1' , '\\'$1', \"$1 ?\", `$1?`",
            "select 'not closed $1",
            "select 'ends with \\",
            "select 1 -- $1 ?",
            "select 1 # $1 ?",
            "select /* $1 ? */ 1 /* not closed $1",
            "/*",
        ] {
            check(sql, sql, &[]);
        }
        check("a -- $1\n, $1", "a -- $1\n, ?", &[0]);
        check("a # $1\n, $1 --$2", "a # $1\n, ? --?", &[0, 1]);
        check("/*! $1 */ /*x*/ $2 '$3'", "/*! ? */ /*x*/ ? '$3'", &[0, 1]);
        check("/*/ $1 */ $1", "/*/ $1 */ ?", &[0]);
        check("\u{e4}$1 $1", "\u{e4}$1 ?", &[0]);
    }
}
