//! Finds where a SQL command ends, and which parts of its text are code, quoted text or comments.
//!
//! A command ends at a semicolon outside quotes, brackets and routine bodies, at a backslash that
//! begins a meta-command, or at the end of the script. The SQL itself is left to the server to
//! check.

use super::chars::{is_name, is_name_start, skip_while};
use super::routine::Routine;
use super::source::Flaw;
use std::ops::Range;

/// How a part of a command is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Outside quoted text and comments.
    Code,
    /// A string, a quoted name or a comment.
    Quoted,
    /// `\;` or `\:`, which stand for the second character.
    Escaped,
}

/// A part of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

/// What ended a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Semicolon,
    Backslash,
    Script,
}

/// A command as scanned.
#[derive(Debug)]
pub(super) struct Scan {
    /// The command without its semicolon; empty when there was only white space and comments.
    pub(super) span: Range<usize>,
    pub(super) pieces: Vec<Piece>,
    pub(super) ending: Ending,
    /// Where reading continues: after the semicolon or the backslash.
    pub(super) next: usize,
    pub(super) flaws: Vec<Flaw>,
}

/// Scans the command that begins at `from`, after white space and `--` comments.
pub(super) fn scan(text: &str, from: usize) -> Scan {
    let start = skip_leading(text, from);
    let mut scanner = Scanner {
        text,
        at: start,
        pieces: Vec::new(),
        code_start: start,
        brackets: Vec::new(),
        routine: Routine::default(),
        flaws: Vec::new(),
    };
    let ending = scanner.run();
    scanner.finish(start, ending)
}

fn skip_leading(text: &str, mut at: usize) -> usize {
    loop {
        at = skip_while(text, at, |c| c.is_ascii_whitespace());
        if !text[at..].starts_with("--") {
            return at;
        }
        at = skip_while(text, at, |c| c != '\n');
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    pieces: Vec<Piece>,
    /// Where the current stretch of code began.
    code_start: usize,
    /// Brackets that are open.
    brackets: Vec<usize>,
    routine: Routine,
    flaws: Vec<Flaw>,
}

impl Scanner<'_> {
    fn run(&mut self) -> Ending {
        while let Some(first) = self.text[self.at..].chars().next() {
            match first {
                ';' if self.brackets.is_empty() && !self.routine.is_open() => {
                    return Ending::Semicolon;
                }
                '\\' if !self.escape() => return Ending::Backslash,
                '\\' => {}
                _ => self.step(first),
            }
        }
        Ending::Script
    }

    /// Consumes what begins with this character.
    fn step(&mut self, first: char) {
        let rest = &self.text[self.at..];
        match first {
            '\'' => self.quoted(string_length(rest, false), "this string does not end"),
            '"' => self.quoted(after(rest, 1, "\""), "this quoted name does not end"),
            '-' if rest.starts_with("--") => self.quoted(Some(line_length(rest)), ""),
            '/' if rest.starts_with("/*") => {
                self.quoted(comment_length(rest), "this comment does not end");
            }
            '$' => self.dollar(),
            '(' => self.open_bracket(),
            ')' => self.close_bracket(),
            _ if is_name(first) => self.word(),
            _ => self.at += first.len_utf8(),
        }
    }

    /// `\;` and `\:`; any other backslash is not an escape.
    fn escape(&mut self) -> bool {
        let is_escape = self.text[self.at + 1..].starts_with([';', ':']);
        if is_escape {
            self.piece(Kind::Escaped, 2);
        }
        is_escape
    }

    fn open_bracket(&mut self) {
        self.brackets.push(self.at);
        self.at += 1;
    }

    fn close_bracket(&mut self) {
        self.brackets.pop();
        self.at += 1;
    }

    /// A word or a number. `E` before a string allows escapes by backslash in it.
    fn word(&mut self) {
        let end = skip_while(self.text, self.at, |c| is_name(c) || c == '$');
        let word = &self.text[self.at..end];
        if self.brackets.is_empty() {
            self.routine.word(word);
        }
        self.at = end;
        let rest = &self.text[end..];
        if word.eq_ignore_ascii_case("e") && rest.starts_with('\'') {
            self.quoted(string_length(rest, true), "this string does not end");
        }
    }

    /// A dollar-quoted string, or just a dollar.
    fn dollar(&mut self) {
        let rest = &self.text[self.at..];
        match dollar_tag(rest) {
            Some(tag) => self.quoted(after(rest, tag.len(), tag), "this string does not end"),
            None => self.at += 1,
        }
    }

    /// A quoted text of this length; if it is not closed, it extends to the end of the script.
    fn quoted(&mut self, length: Option<usize>, message: &str) {
        let rest = self.text.len() - self.at;
        if length.is_none() {
            let opening = self.at..self.at + line_length(&self.text[self.at..]);
            self.flaws.push(Flaw::new(opening, message));
        }
        self.piece(Kind::Quoted, length.unwrap_or(rest));
    }

    /// Ends the current stretch of code, and adds a piece of another kind.
    fn piece(&mut self, kind: Kind, length: usize) {
        self.end_code(self.at);
        self.pieces.push(Piece { kind, span: self.at..self.at + length });
        self.at += length;
        self.code_start = self.at;
    }

    fn end_code(&mut self, end: usize) {
        if self.code_start < end {
            self.pieces.push(Piece { kind: Kind::Code, span: self.code_start..end });
        }
    }

    fn finish(mut self, start: usize, ending: Ending) -> Scan {
        let trimmed = start + self.text[start..self.at].trim_ascii_end().len();
        self.end_code(trimmed.max(self.code_start));
        if let Some(&bracket) = self.brackets.last() {
            self.flaws.push(Flaw::new(bracket..bracket + 1, "this bracket is not closed"));
        }
        Scan {
            span: start..trimmed,
            pieces: self.pieces,
            ending,
            next: self.at + usize::from(ending != Ending::Script),
            flaws: self.flaws,
        }
    }
}

/// The length of a quoted text that ends with `closing`, searched for from `from` on.
fn after(rest: &str, from: usize, closing: &str) -> Option<usize> {
    rest[from..].find(closing).map(|at| from + at + closing.len())
}

fn line_length(rest: &str) -> usize {
    rest.find('\n').unwrap_or(rest.len())
}

/// The length of a string. A doubled quote is treated as the end of one string and the beginning of
/// another, with the same result.
fn string_length(rest: &str, has_escapes: bool) -> Option<usize> {
    let mut is_escaped = false;
    rest.char_indices().skip(1).find_map(|(at, c)| {
        let ends = c == '\'' && !is_escaped;
        is_escaped = has_escapes && c == '\\' && !is_escaped;
        ends.then_some(at + 1)
    })
}

/// The length of a comment; comments nest.
pub(crate) fn comment_length(rest: &str) -> Option<usize> {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let next = &rest.as_bytes()[at..];
        if next.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if next.starts_with(b"*/") {
            depth -= 1;
            at += 2;
        } else {
            at += 1;
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The `$tag$` at the beginning, if there is one.
fn dollar_tag(rest: &str) -> Option<&str> {
    let tag = &rest[..skip_while(rest, 1, is_name)];
    let is_tag = tag.len() == 1 || tag[1..].starts_with(is_name_start);
    (is_tag && rest[tag.len()..].starts_with('$')).then(|| &rest[..=tag.len()])
}

#[cfg(test)]
mod tests {
    use super::{Ending, Kind, Scan, scan};

    /// The commands of a text without meta-commands.
    fn commands(text: &str) -> Vec<&str> {
        let (mut at, mut found) = (0, Vec::new());
        loop {
            let scan = scan(text, at);
            assert!(scan.flaws.is_empty(), "{:?}", scan.flaws);
            if !scan.span.is_empty() {
                found.push(&text[scan.span]);
            }
            if scan.ending == Ending::Script {
                return found;
            }
            at = scan.next;
        }
    }

    fn quoted(text: &str) -> Vec<&str> {
        let Scan { pieces, .. } = scan(text, 0);
        let quoted = pieces.into_iter().filter(|piece| piece.kind == Kind::Quoted);
        quoted.map(|piece| &text[piece.span]).collect()
    }

    #[test]
    fn semicolons_in_quotes_brackets_and_bodies_end_nothing() {
        for command in [
            "select ';', \"a;b\", $$;$$, $t$;$$;$t$",
            "select 1 -- no; end\n + 1",
            "select /* ; /* ; */ ; */ 1",
            "create rule r as on insert to t do also (select 1; select 2)",
            "create or replace function f() returns int begin atomic select case when true then 1 end; select 2; end",
            "select e'\\';', 'it''s;'",
            r"select 1 \; select 2",
            "select a$b$;",
        ] {
            let command = command.trim_end_matches(';');
            assert_eq!(commands(&format!("{command};\nselect 2;")), [command, "select 2"]);
        }
    }

    #[test]
    fn leading_blanks_and_line_comments_are_no_command() {
        assert_eq!(commands("-- one\n  -- two\n select 1; -- three"), ["select 1"]);
        assert_eq!(commands("select 1"), ["select 1"]);
        assert_eq!(commands(" \n-- x"), [""; 0]);
    }

    #[test]
    fn quotations_are_distinguished_from_code() {
        assert_eq!(quoted("a 'b''c' e'\\'' d"), ["'b'", "'c'", "'\\''"]);
        assert_eq!(quoted("x$1 $1 $a$b$a$ \"é\""), ["$a$b$a$", "\"é\""]);
        assert_eq!(quoted("1 -- x\n2 /* y */ 3"), ["-- x", "/* y */"]);
    }

    #[test]
    fn what_is_never_closed_is_a_flaw_where_it_opens() {
        for (text, at) in
            [("a 'b", 2), ("a \"b", 2), ("a /* /* */", 2), ("$x$ $$", 0), ("f((1)", 1)]
        {
            let flaws = scan(text, 0).flaws;
            assert_eq!(
                flaws.iter().map(|flaw| flaw.span.start).collect::<Vec<_>>(),
                [at],
                "{text}"
            );
        }
    }

    #[test]
    fn a_backslash_begins_a_meta_command_unless_it_escapes() {
        let found = scan(r"select '\' \: 1 \gset", 0);
        assert_eq!((found.ending, found.span.end, found.next), (Ending::Backslash, 15, 17));
    }
}
