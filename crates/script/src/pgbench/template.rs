//! SQL text with its variables found: what stays as it is, and what a value replaces.
//!
//! `:name` is a variable where it is not quoted and something can set it. Simple mode, which works
//! on the text itself, replaces inside quoted text too, as pgbench does. `::cast` and names that
//! nothing sets are left unchanged.

use super::chars::{is_name, is_name_start, skip_while};
use super::names::{Names, Slot};
use super::program::Chunk;
use super::read::Sql;
use super::source::Flaw;
use super::sql::{Kind, Piece};
use dbdyno_model::QueryMode;
use std::ops::Range;

/// The chunks of a command, and warnings about names that nothing sets.
pub(super) fn template(
    text: &str,
    sql: &Sql,
    mode: QueryMode,
    names: &mut Names,
) -> (Vec<Chunk>, Vec<Flaw>) {
    let mut builder = Builder { text, names, chunks: Vec::new(), warnings: Vec::new() };
    for piece in &sql.pieces {
        match piece.kind {
            Kind::Escaped => builder.literal(piece.span.start + 1..piece.span.end),
            Kind::Quoted if mode != QueryMode::Simple => builder.literal(piece.span.clone()),
            Kind::Quoted | Kind::Code => builder.piece(piece),
        }
    }
    (builder.chunks, builder.warnings)
}

struct Builder<'a> {
    text: &'a str,
    names: &'a mut Names,
    chunks: Vec<Chunk>,
    warnings: Vec<Flaw>,
}

impl Builder<'_> {
    fn literal(&mut self, span: Range<usize>) {
        let text = &self.text[span];
        if let Some(Chunk::Literal(before)) = self.chunks.last_mut() {
            before.push_str(text);
        } else if !text.is_empty() {
            self.chunks.push(Chunk::Literal(text.into()));
        }
    }

    fn piece(&mut self, piece: &Piece) {
        let mut literal_start = piece.span.start;
        for span in mentions(self.text, piece.span.clone()) {
            let Some(slot) = self.variable(&span, piece.kind) else { continue };
            self.literal(literal_start..span.start);
            self.chunks.push(match piece.kind {
                Kind::Code if self.names.is_text(slot) => Chunk::Quoted(slot),
                _ => Chunk::Variable(slot),
            });
            literal_start = span.end;
        }
        self.literal(literal_start..piece.span.end);
    }

    /// The variable that `:name` stands for.
    fn variable(&mut self, span: &Range<usize>, kind: Kind) -> Option<Slot> {
        let slot = self.names.slot(&self.text[span.start + 1..span.end]);
        if self.names.can_be_set(slot) {
            return Some(slot);
        }
        if kind == Kind::Code {
            let message = "nothing sets this variable: it is left in the SQL unchanged";
            self.warnings.push(Flaw::new(span.clone(), message));
        }
        None
    }
}

/// Where the piece contains `:name`, with exactly one colon.
fn mentions(text: &str, span: Range<usize>) -> Vec<Range<usize>> {
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

/// The chunks as a statement with numbered parameters, one for each mention.
pub(super) fn numbered(chunks: Vec<Chunk>) -> (String, Vec<Slot>) {
    let (mut sql, mut slots) = (String::new(), Vec::new());
    for chunk in chunks {
        match chunk {
            Chunk::Literal(text) => sql.push_str(&text),
            Chunk::Variable(slot) | Chunk::Quoted(slot) => {
                slots.push(slot);
                sql.push('$');
                sql.push_str(&slots.len().to_string());
            }
        }
    }
    (sql, slots)
}
