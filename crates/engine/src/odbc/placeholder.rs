//! Translates a statement's `$1`, `$2`, … to the `?` of ODBC.
//!
//! ODBC numbers parameters by their position: one that is used twice is sent twice. Strings, quoted
//! names and comments are recognized as in the SQL standard and left unchanged, and so is a text
//! that already uses `?`.

/// A statement with ODBC's placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Translated {
    pub(super) sql: String,
    /// For each `?` in order: the index of the request's parameter, from 0.
    pub(super) order: Vec<usize>,
}

pub(super) fn translate(sql: &str) -> Translated {
    let mut translated = Translated { sql: String::with_capacity(sql.len()), order: Vec::new() };
    let mut rest = sql;
    while let Some(symbol) = rest.chars().next() {
        let bytes = match numbered(rest).filter(|_| !ends_in_name(&translated.sql)) {
            Some((parameter, bytes)) => {
                translated.take(parameter);
                bytes
            }
            None if symbol == '?' => {
                translated.take(translated.order.len());
                1
            }
            None => {
                let bytes = other(rest, symbol);
                translated.sql.push_str(&rest[..bytes]);
                bytes
            }
        };
        rest = &rest[bytes..];
    }
    translated
}

impl Translated {
    fn take(&mut self, parameter: usize) {
        self.order.push(parameter);
        self.sql.push('?');
    }
}

/// The parameter at the beginning of the text, and its length.
fn numbered(rest: &str) -> Option<(usize, usize)> {
    let after = rest.strip_prefix('$')?;
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let number: usize = after[..digits].parse().ok()?;
    Some((number.checked_sub(1)?, 1 + digits))
}

/// Whether a `$` here would be part of a name.
fn ends_in_name(before: &str) -> bool {
    before.ends_with(|symbol: char| symbol.is_alphanumeric() || "_$@".contains(symbol))
}

/// The length of what the text begins with: one character, or a whole string, quoted name or
/// comment.
fn other(rest: &str, symbol: char) -> usize {
    let inside = match symbol {
        '\'' | '"' | '`' => rest[1..].find(symbol).map(|end| end + 2),
        '-' if rest.starts_with("--") => rest.find('\n'),
        '/' if rest.starts_with("/*") => rest[2..].find("*/").map(|end| end + 4),
        _ => Some(symbol.len_utf8()),
    };
    inside.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::translate;

    fn check(sql: &str, expected: &str, order: &[usize]) {
        let translated = translate(sql);
        assert_eq!((translated.sql.as_str(), &translated.order[..]), (expected, order));
    }

    #[test]
    fn parameters_are_taken_in_the_order_of_the_text() {
        check("select 1", "select 1", &[]);
        check("set a = $2 where b = $1 or c=$2", "set a = ? where b = ? or c=?", &[1, 0, 1]);
        check("é$12+$1, 'é'", "é$12+?, 'é'", &[0]);
        check("id = ? and k = ?", "id = ? and k = ?", &[0, 1]);
    }

    #[test]
    fn names_strings_and_comments_are_left_alone() {
        for sql in ["a$1, $x, $0, $", "'it''s $1 ?'", "\"$1\" `$1`", "'open $1", "-- $1", "/* $1"] {
            check(sql, sql, &[]);
        }
        check("a -- $1\n, $1", "a -- $1\n, ?", &[0]);
        check("/* $1 */ $1 /*/ $2 */", "/* $1 */ ? /*/ $2 */", &[0]);
    }
}
