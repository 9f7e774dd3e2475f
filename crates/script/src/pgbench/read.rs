//! Splits a script's text into commands.
//!
//! Problems with single commands are reported here, and reading continues after each. What needs
//! the whole plan (variables, blocks, pipelines) is checked by lowering.

use super::copy::{self, Copy, FormatKind};
use super::line;
use super::meta::{self, Meta, Store};
use super::names::Names;
use super::parser::Mention;
use super::source::{Flaw, Source};
use super::sql::{self, Ending, Piece};
use crate::problem::{Problem, Severity};
use dbdyno_model::CopyDirection;
use dbdyno_sql::Dialect;
use std::ops::Range;

/// A command and its position.
pub(super) struct Command {
    pub(super) span: Range<usize>,
    pub(super) action: Action,
}

/// What a command does.
pub(super) enum Action {
    Sql(Sql),
    Meta(Meta),
}

/// A SQL command.
pub(super) struct Sql {
    /// The text without its semicolon.
    pub(super) span: Range<usize>,
    pub(super) pieces: Vec<Piece>,
    pub(super) store: Option<Store>,
    pub(super) copy: Option<Copy>,
    /// The rows that follow a COPY from the client.
    pub(super) rows: Range<usize>,
}

/// A script as read.
pub(super) struct Reading<'a> {
    pub(super) source: Source<'a>,
    dialect: Dialect,
    pub(super) commands: Vec<Command>,
    pub(super) mentions: Vec<Mention>,
    pub(super) flaws: Vec<Flaw>,
}

/// Reads a script.
pub(super) fn read<'a>(source: Source<'a>, dialect: Dialect, names: &mut Names) -> Reading<'a> {
    let mut reading =
        Reading { source, dialect, commands: Vec::new(), mentions: Vec::new(), flaws: Vec::new() };
    if let Some(at) = reading.source.text.find('\0') {
        reading.flaws.push(Flaw::new(at..at + 1, "a script cannot contain a zero byte"));
        return reading;
    }
    let mut at = 0;
    while let Some(next) = reading.step(at, names) {
        at = next;
    }
    reading.check_not_empty();
    reading
}

impl Reading<'_> {
    /// The problems of single commands, now that all scripts have been read.
    pub(super) fn problems(&self, names: &Names) -> Vec<Problem> {
        let unset = self.mentions.iter().filter(|mention| !names.can_be_set(mention.slot));
        let unset =
            unset.map(|mention| Flaw::new(mention.span.clone(), "nothing sets this variable"));
        let flaws = self.flaws.iter().cloned().chain(unset);
        flaws.map(|flaw| self.source.problem(Severity::Error, flaw)).collect()
    }

    /// Reads the command at this offset; none when the script ends with it.
    fn step(&mut self, at: usize, names: &mut Names) -> Option<usize> {
        let scan = sql::scan(self.source.text, at, self.dialect);
        self.flaws.extend(scan.flaws);
        let is_closed = scan.ending == Ending::Semicolon;
        let mut next = scan.next;
        if is_closed || !scan.span.is_empty() {
            let end = if is_closed { scan.next } else { scan.span.end };
            let span = scan.span.start..end;
            let copy = self.copy(&span, &scan.pieces);
            let mut rows = 0..0;
            if copy.as_ref().is_some_and(|copy| copy.direction == CopyDirection::In) {
                match copy::rows(self.source.text, &span, is_closed) {
                    Ok((found, after)) => (rows, next) = (found, after),
                    Err(flaw) => {
                        // What follows cannot be told from rows.
                        self.flaws.push(flaw);
                        return None;
                    }
                }
            }
            let sql = Sql { span: scan.span, pieces: scan.pieces, store: None, copy, rows };
            self.commands.push(Command { span, action: Action::Sql(sql) });
        }
        match scan.ending {
            Ending::Script => None,
            Ending::Semicolon => Some(next),
            Ending::Backslash => Some(self.meta(next, names)),
        }
    }

    /// The command as a COPY from or to the client, if it is one.
    fn copy(&mut self, span: &Range<usize>, pieces: &[Piece]) -> Option<Copy> {
        let (copy, is_alone) = copy::recognize(self.source.text, pieces)?;
        let is_binary = copy.format.kind == FormatKind::Binary;
        let message = if !is_alone {
            "COPY from or to the client cannot be combined with other statements"
        } else if is_binary && copy.direction == CopyDirection::In {
            "a script is text and cannot hold binary rows: copy them as text or CSV"
        } else {
            return Some(copy);
        };
        self.flaws.push(Flaw::new(span.clone(), message));
        Some(copy).filter(|_| is_alone)
    }

    /// Reads the meta-command after a backslash, up to the end of its line.
    fn meta(&mut self, at: usize, names: &mut Names) -> usize {
        let end = line::end(self.source.text, at);
        let mut reader = meta::Reader {
            text: self.source.text,
            names,
            mentions: &mut self.mentions,
            flaws: &mut self.flaws,
        };
        let span = at - 1..at + self.source.text[at..end].trim_ascii_end().len();
        match reader.read(at..end) {
            None => {}
            Some(Meta::Store(store)) => self.store(store, span),
            Some(meta) => self.commands.push(Command { span, action: Action::Meta(meta) }),
        }
        end
    }

    /// Makes the SQL command before store its rows.
    fn store(&mut self, store: Store, span: Range<usize>) {
        match self.commands.last_mut() {
            Some(Command { action: Action::Sql(sql), .. }) if sql.copy.is_some() => {
                self.flaws.push(Flaw::new(span, "the rows of a COPY cannot be stored"));
            }
            Some(Command { action: Action::Sql(sql), .. }) if sql.store.is_none() => {
                sql.store = Some(store);
            }
            _ => self.flaws.push(Flaw::new(span, "this must follow a SQL command")),
        }
    }

    fn check_not_empty(&mut self) {
        if self.commands.is_empty() && self.flaws.is_empty() {
            self.flaws.push(Flaw::new(0..0, "this script has no commands"));
        }
    }
}
