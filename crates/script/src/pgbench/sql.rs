//! Finds where a SQL command ends, and which parts of its text are code, quoted text or comments.
//!
//! A command ends at a semicolon outside quotes, brackets and routine bodies, at a backslash that
//! begins a meta-command, or at the end of the script. The SQL itself is left to the server to
//! check.

use super::chars::skip_while;
use super::routine::Routine;
use super::source::Flaw;
use dbdyno_sql::{Dialect, Kind as TokenKind, Token, token};
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

/// Scans the command that begins at `from`, after white space and comments of whole lines.
pub(super) fn scan(text: &str, from: usize, dialect: Dialect) -> Scan {
    let start = skip_leading(text, from, dialect);
    let mut scanner = Scanner {
        text,
        dialect,
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

fn skip_leading(text: &str, mut at: usize, dialect: Dialect) -> usize {
    loop {
        at = skip_while(text, at, |c| c.is_ascii_whitespace());
        let rest = &text[at..];
        // Two dashes begin a comment of the script, whatever they mean to the server.
        let is_comment =
            rest.starts_with("--") || rest.starts_with('#') && dialect == Dialect::Mysql;
        if !is_comment {
            return at;
        }
        at = skip_while(text, at, |c| c != '\n');
    }
}

struct Scanner<'a> {
    text: &'a str,
    dialect: Dialect,
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
        while let Some(token) = token(&self.text[self.at..], self.dialect) {
            match token.text {
                ";" if self.brackets.is_empty() && self.routine.semicolon() => {
                    return Ending::Semicolon;
                }
                "\\" if !self.escape() => return Ending::Backslash,
                "\\" => {}
                _ => self.step(token),
            }
        }
        Ending::Script
    }

    fn step(&mut self, token: Token<'_>) {
        match (token.kind, token.text) {
            (TokenKind::String, _) => return self.quoted(token, "this string does not end"),
            (TokenKind::QuotedName, _) => {
                return self.quoted(token, "this quoted name does not end");
            }
            (TokenKind::Comment, _) => return self.quoted(token, "this comment does not end"),
            (TokenKind::Word, word) if self.brackets.is_empty() => self.routine.word(word),
            (_, "(") => self.brackets.push(self.at),
            (_, ")") => drop(self.brackets.pop()),
            _ => {}
        }
        self.at += token.text.len();
    }

    /// `\;` and `\:`; any other backslash is not an escape.
    fn escape(&mut self) -> bool {
        let is_escape = self.text[self.at + 1..].starts_with([';', ':']);
        if is_escape {
            self.piece(Kind::Escaped, 2);
        }
        is_escape
    }

    /// A quoted text or a comment; one that is not closed extends to the end of the script.
    fn quoted(&mut self, token: Token<'_>, message: &str) {
        if !token.is_closed {
            let line = token.text.find('\n').unwrap_or(token.text.len());
            self.flaws.push(Flaw::new(self.at..self.at + line, message));
        }
        self.piece(Kind::Quoted, token.text.len());
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

#[cfg(test)]
mod tests {
    use super::{Ending, Kind, Scan};
    use dbdyno_sql::Dialect;

    fn scan(text: &str, from: usize) -> Scan {
        super::scan(text, from, Dialect::Postgresql)
    }

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
            "create procedure p() begin if a then select 1; end if; while b do case c when 1 then select 2; end case; end while; end",
            "create procedure p() begin begin end; if a then select 1; end if; end",
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
        assert_eq!(quoted("a 'b''c' e'\\'' d"), ["'b''c'", "e'\\''"]);
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

    #[test]
    fn a_command_ends_where_its_server_sees_the_end() {
        for (text, postgresql, mysql) in [
            (r"select 'it\'; 1", 12, 15),
            ("select `a;b`; 1", 9, 12),
            ("select 1 # a; b\n; 2", 12, 15),
            ("select 5--3; 2\n;", 14, 11),
            ("select $$;$$; 1", 12, 9),
            ("# a\nselect 1;", 12, 12),
        ] {
            let ends = [Dialect::Postgresql, Dialect::Mysql]
                .map(|dialect| super::scan(text, 0, dialect).span.end);
            assert_eq!(ends, [postgresql, mysql], "{text}");
        }
        assert_eq!(super::scan("# a\nselect 1;", 0, Dialect::Mysql).span, 4..12);
    }
}
