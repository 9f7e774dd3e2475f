//! COPY between the server and its client: which commands are one, and the rows that follow it.
//!
//! The rows of `copy … from stdin` stand between the command's line and a line with `\.` alone, as
//! in psql's scripts. A variable's value is written into them by the rules of their format, so that
//! it arrives as it is. The rows themselves are left to the server to check.

use super::chars::{is_name, mentions, skip_while};
use super::datum::write_value;
use super::names::{Names, Slot};
use super::source::Flaw;
use super::sql::{Kind, Piece};
use dbdyno_model::{CopyDirection, Value};
use std::fmt::Write;
use std::ops::Range;

/// A command that copies rows from or to its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Copy {
    pub(super) direction: CopyDirection,
    pub(super) format: Format,
}

/// How rows are written, as far as it matters to the values of variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) kind: FormatKind,
    delimiter: String,
    null: String,
    quote: String,
    escape: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormatKind {
    Text,
    Csv,
    Binary,
}

/// A part of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RowPart {
    Literal(String),
    /// A variable, perhaps within the quotes of CSV.
    Variable(Slot, bool),
}

/// The first client's COPY among the statements of a command, and whether it is the only one.
pub(super) fn recognize(text: &str, pieces: &[Piece]) -> Option<(Copy, bool)> {
    let is_separator =
        |piece: &Piece| piece.kind == Kind::Escaped && text[piece.span.clone()] == *"\\;";
    let statements: Vec<_> = pieces
        .split(is_separator)
        .map(|pieces| tokens(text, pieces))
        .filter(|tokens| !tokens.is_empty())
        .collect();
    let copy = statements.iter().find_map(|tokens| copy_of(tokens))?;
    Some((copy, statements.len() == 1))
}

/// A token of SQL, as far as COPY's grammar needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// In lower case.
    Word(String),
    /// With its quotes.
    Quoted(&'a str),
    Sign(char),
}

impl Token<'_> {
    fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own == word)
    }
}

fn tokens<'a>(text: &'a str, pieces: &[Piece]) -> Vec<Token<'a>> {
    let mut tokens = Vec::new();
    for piece in pieces {
        let part = &text[piece.span.clone()];
        match piece.kind {
            Kind::Quoted if part.starts_with("--") || part.starts_with("/*") => {}
            Kind::Quoted => tokens.push(Token::Quoted(part)),
            Kind::Code | Kind::Escaped => words(part, &mut tokens),
        }
    }
    tokens
}

fn words(code: &str, tokens: &mut Vec<Token<'_>>) {
    let mut at = 0;
    while let Some(first) = code[at..].chars().next() {
        let end = skip_while(code, at, is_name);
        if end > at {
            tokens.push(Token::Word(code[at..end].to_ascii_lowercase()));
            at = end;
        } else {
            if !first.is_whitespace() {
                tokens.push(Token::Sign(first));
            }
            at += first.len_utf8();
        }
    }
}

fn copy_of(tokens: &[Token<'_>]) -> Option<Copy> {
    if !tokens.first()?.is("copy") {
        return None;
    }
    let mut depth = 0;
    let place = tokens.iter().position(|token| {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth -= 1,
            _ => {}
        }
        depth == 0 && (token.is("from") || token.is("to"))
    })?;
    let client = tokens.get(place + 1)?;
    if !client.is("stdin") && !client.is("stdout") {
        return None; // the server's own file or program
    }
    let is_in = tokens[place].is("from");
    let direction = if is_in { CopyDirection::In } else { CopyDirection::Out };
    // Before version 9.0 the format stood before the table.
    let is_binary = place > 2 && tokens[1].is("binary");
    Some(Copy { direction, format: Format::of(&tokens[place + 2..], is_binary) })
}

impl Format {
    /// The format of these options, in either of their grammars.
    fn of(options: &[Token<'_>], is_binary: bool) -> Self {
        let names = |word: &str| {
            options.iter().any(|token| match token {
                Token::Word(own) => own == word,
                Token::Quoted(text) => text.trim_matches(['\'', '"']).eq_ignore_ascii_case(word),
                Token::Sign(_) => false,
            })
        };
        let kind = match () {
            () if is_binary || names("binary") => FormatKind::Binary,
            () if names("csv") => FormatKind::Csv,
            () => FormatKind::Text,
        };
        let is_csv = kind == FormatKind::Csv;
        let option = |word: &str| option(options, word);
        let delimiter = option("delimiter").or_else(|| option("delimiters"));
        let quote = option("quote").unwrap_or_else(|| "\"".into());
        Self {
            kind,
            delimiter: delimiter.unwrap_or_else(|| if is_csv { "," } else { "\t" }.into()),
            null: option("null").unwrap_or_else(|| if is_csv { "" } else { "\\N" }.into()),
            escape: option("escape").unwrap_or_else(|| quote.clone()),
            quote,
        }
    }

    /// Writes a variable's value as, or into, a field; `in_quotes` of CSV.
    pub(super) fn write(&self, out: &mut Vec<u8>, value: &Value, in_quotes: bool) {
        let mut text = String::new();
        match value {
            Value::Null if in_quotes => {}
            Value::Null => text.push_str(&self.null),
            _ if self.kind == FormatKind::Csv => self.write_csv(&mut text, value, in_quotes),
            _ => self.write_text(&mut text, value),
        }
        out.extend_from_slice(text.as_bytes());
    }

    fn write_text(&self, out: &mut String, value: &Value) {
        let mut plain = String::new();
        write_value(&mut plain, value);
        if plain == self.null {
            // Not NULL, but a text that looks like it.
            for byte in plain.bytes() {
                let _ = write!(out, "\\x{byte:02x}"); // writing to a String does not fail
            }
            return;
        }
        for c in plain.chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                _ if self.delimiter.starts_with(c) => out.extend(['\\', c]),
                _ => out.push(c),
            }
        }
    }

    fn write_csv(&self, out: &mut String, value: &Value, in_quotes: bool) {
        let mut plain = String::new();
        write_value(&mut plain, value);
        let marks = [&self.delimiter, &self.quote, &self.escape];
        let is_special = |c: char| {
            matches!(c, '\n' | '\r' | '\\') || marks.iter().any(|mark| mark.starts_with(c))
        };
        let adds_quotes = !in_quotes && (plain == self.null || plain.contains(is_special));
        if !in_quotes && !adds_quotes {
            return out.push_str(&plain);
        }
        if adds_quotes {
            out.push_str(&self.quote);
        }
        for c in plain.chars() {
            if self.quote.starts_with(c) || self.escape.starts_with(c) {
                out.push_str(&self.escape);
            }
            out.push(c);
        }
        if adds_quotes {
            out.push_str(&self.quote);
        }
    }
}

/// The text after this word of the options, if it is one.
fn option(options: &[Token<'_>], word: &str) -> Option<String> {
    let mut rest = options.iter().skip_while(|token| !token.is(word)).skip(1);
    let mut next = rest.next()?;
    if next.is("as") {
        next = rest.next()?;
    }
    let Token::Quoted(quoted) = next else { return None };
    let unprefixed = quoted.strip_prefix(['e', 'E']);
    let has_escapes = unprefixed.is_some();
    let text =
        unprefixed.unwrap_or(quoted).strip_prefix('\'')?.strip_suffix('\'')?.replace("''", "'");
    Some(if has_escapes { text.replace("\\t", "\t").replace("\\\\", "\\") } else { text })
}

/// The rows that begin after the line of the command's semicolon, and where the script continues; a
/// flaw if they do not begin there or never end.
pub(super) fn rows(
    text: &str,
    command: &Range<usize>,
    is_closed: bool,
) -> Result<(Range<usize>, usize), Flaw> {
    let first_line = command.start..line_end(text, command.start).min(command.end);
    if !is_closed {
        let message = "this COPY needs a semicolon, then its rows, then a line with \\. alone";
        return Err(Flaw::new(first_line, message));
    }
    let line_end = line_end(text, command.end);
    let rest = text[command.end..line_end].trim();
    if !rest.is_empty() && !rest.starts_with("--") {
        let start =
            command.end + text[command.end..].len() - text[command.end..].trim_start().len();
        let message = "the rows of this COPY begin on the next line: nothing may stand here";
        return Err(Flaw::new(start..start + rest.len(), message));
    }
    let start = (line_end + 1).min(text.len());
    let mut at = start;
    while at < text.len() {
        let end = self::line_end(text, at);
        if text[at..end].trim_end_matches('\r') == "\\." {
            return Ok((start..at, end));
        }
        at = (end + 1).min(text.len());
    }
    let message = "the rows of this COPY have no end: a line with \\. alone must follow them";
    Err(Flaw::new(first_line, message))
}

fn line_end(text: &str, at: usize) -> usize {
    skip_while(text, at, |c| c != '\n')
}

/// The rows with their variables found, and warnings about fields that look like one which nothing
/// sets.
pub(super) fn row_parts(
    text: &str,
    rows: Range<usize>,
    format: &Format,
    names: &mut Names,
) -> (Vec<RowPart>, Vec<Flaw>) {
    let (mut parts, mut warnings) = (Vec::new(), Vec::new());
    let mut literal = String::new();
    let mut quotes = Quotes { format, is_open: false };
    let mut at = rows.start;
    for span in mentions(text, rows.clone()) {
        let before = &text[at..span.start];
        if is_escaped(&text[rows.start..span.start]) {
            // The server reads `\:` as a colon, except in CSV.
            let is_csv = format.kind == FormatKind::Csv;
            literal.push_str(if is_csv { &before[..before.len() - 1] } else { before });
            quotes.pass(before);
            at = span.start;
            continue;
        }
        let slot = names.slot(&text[span.start + 1..span.end]);
        if !names.can_be_set(slot) {
            if is_field(text, &rows, &span, format) {
                let message = "nothing sets this variable: it is left in the rows unchanged";
                warnings.push(Flaw::new(span, message));
            }
            continue;
        }
        literal.push_str(before);
        quotes.pass(before);
        if !literal.is_empty() {
            parts.push(RowPart::Literal(std::mem::take(&mut literal)));
        }
        parts.push(RowPart::Variable(slot, quotes.is_open));
        at = span.end;
    }
    literal.push_str(&text[at..rows.end]);
    if !literal.is_empty() {
        parts.push(RowPart::Literal(literal));
    }
    (parts, warnings)
}

/// Whether an odd number of backslashes ends this text.
fn is_escaped(before: &str) -> bool {
    before.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Whether the mention is all of its field.
fn is_field(text: &str, rows: &Range<usize>, span: &Range<usize>, format: &Format) -> bool {
    let (before, after) = (&text[rows.start..span.start], &text[span.end..rows.end]);
    let delimiter = format.delimiter.as_str();
    (before.is_empty() || before.ends_with(['\n']) || before.ends_with(delimiter))
        && (after.is_empty() || after.starts_with(['\r', '\n']) || after.starts_with(delimiter))
}

/// Whether a place in CSV is within quotes.
struct Quotes<'a> {
    format: &'a Format,
    is_open: bool,
}

impl Quotes<'_> {
    fn pass(&mut self, text: &str) {
        let Format { kind, quote, escape, .. } = self.format;
        if *kind != FormatKind::Csv {
            return;
        }
        let mut is_escaped = false;
        for c in text.chars() {
            if is_escaped {
                is_escaped = false;
            } else if self.is_open && escape != quote && escape.starts_with(c) {
                is_escaped = true;
            } else if quote.starts_with(c) {
                self.is_open = !self.is_open; // a doubled one ends and begins
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, RowPart, recognize, row_parts};
    use crate::pgbench::names::Names;
    use crate::pgbench::sql::{self, Scan};
    use dbdyno_model::CopyDirection::{In, Out};
    use dbdyno_model::Value;
    use dbdyno_sql::Dialect;

    fn scan(command: &str) -> Scan {
        sql::scan(command, 0, Dialect::Postgresql)
    }

    fn format(command: &str) -> Format {
        recognize(command, &scan(command).pieces).expect("it copies").0.format
    }

    #[test]
    fn copy_of_the_client_is_told_from_copy_of_the_server() {
        for (command, expected) in [
            ("copy t from stdin", Some(In)),
            ("COPY public.t (a, \"from\") FROM STDIN WITH (FORMAT csv)", Some(In)),
            ("copy binary t to stdout", Some(Out)),
            ("copy (select 1 from t) to stdout", Some(Out)),
            ("/* rows */ copy t /* from */ from -- here\n stdin where a > 1", Some(In)),
            ("copy t from '/tmp/stdin'", None),
            ("copy t to program 'cat > stdin'", None),
            ("copy (select 1 from stdin) to '/tmp/f'", None),
            ("select 'copy t from stdin'", None),
            ("select copy from stdin", None),
        ] {
            let found = recognize(command, &scan(command).pieces);
            assert_eq!(found.map(|(copy, _)| copy.direction), expected, "{command}");
        }
        let combined = r"begin \; copy t from stdin";
        assert!(!recognize(combined, &scan(combined).pieces).unwrap().1);
    }

    #[test]
    fn a_value_arrives_as_it_is_in_each_format() {
        let text = |value: &str| Value::Text(value.into());
        for (options, value, expected) in [
            ("", Value::Null, "\\N"),
            ("", Value::Int(-5), "-5"),
            ("", text("a\tb\\c\nd\re"), "a\\tb\\\\c\\nd\\re"),
            ("", text("\\N"), "\\x5c\\x4e"),
            (" (delimiter '|', null 'none')", text("a|b"), "a\\|b"),
            (" (delimiter '|', null 'none')", text("none"), "\\x6e\\x6f\\x6e\\x65"),
            (" with delimiter as e'\\t' null as ''", Value::Null, ""),
            (" csv", Value::Null, ""),
            (" csv", text(""), "\"\""),
            (" csv", text("a,\"b\""), "\"a,\"\"b\"\"\""),
            (" csv", text("\\."), "\"\\.\""),
            (" (format csv, quote '''', escape '\\')", text("it's"), "'it\\'s'"),
            (" (format 'csv', delimiter ';')", text("a,b"), "a,b"),
        ] {
            let mut out = Vec::new();
            format(&format!("copy t from stdin{options}")).write(&mut out, &value, false);
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{options} {value:?}");
        }
    }

    #[test]
    fn variables_are_found_in_rows_and_nowhere_else() {
        let mut names = Names::default();
        let id = names.settable_slot("id");
        let mut parts = |options: &str, rows: &str| {
            let format = format(&format!("copy t from stdin{options}"));
            let (parts, warnings) = row_parts(rows, 0..rows.len(), &format, &mut names);
            (parts, warnings.len())
        };
        let literal = |text: &str| RowPart::Literal(text.into());
        let variable = |in_quotes| RowPart::Variable(id, in_quotes);
        let found = parts("", "12:30:45\t:id\t\\:id\t\\\\:id\tx::id\t{\"a\":true}\t:typo\n");
        let expected = vec![
            literal("12:30:45\t"),
            variable(false),
            literal("\t\\:id\t\\\\"),
            variable(false),
            literal("\tx::id\t{\"a\":true}\t:typo\n"),
        ];
        assert_eq!(found, (expected, 1));
        let found = parts(" csv", ":id,\"a \"\" :id\",\\:id\n");
        let expected =
            vec![variable(false), literal(",\"a \"\" "), variable(true), literal("\",:id\n")];
        assert_eq!(found, (expected, 0));
    }
}
