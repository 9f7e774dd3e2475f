//! SQL text with its variables found: what stays as it is, and what a value replaces.
//!
//! `:name` is a variable where something can set it, also inside quoted text, as in pgbench's simple
//! mode. `::cast` and names that nothing sets are left unchanged. No server takes a parameter inside
//! quoted text, as a part of a name, or for the number of a column: where a variable stands there,
//! the values have to be written into the text, whatever the query mode.

use super::chars::{is_name, mentions};
use super::names::{Names, Slot};
use super::program::Chunk;
use super::source::Flaw;
use super::sql::{Kind, Piece};
use dbdyno_model::QueryMode;
use std::ops::Range;

/// A command's text with its variables found.
pub(super) struct Template {
    pub(super) chunks: Vec<Chunk>,
    /// About names that nothing sets.
    pub(super) warnings: Vec<Flaw>,
    /// Why its values cannot be parameters on any server.
    pub(super) obstacle: Option<String>,
}

/// Finds the variables of a command. In a comment they matter to simple mode alone.
pub(super) fn template(
    text: &str,
    pieces: &[Piece],
    mode: QueryMode,
    names: &mut Names,
) -> Template {
    let template = Template { chunks: Vec::new(), warnings: Vec::new(), obstacle: None };
    let before = pieces.first().map_or(0, |piece| piece.span.start);
    let mut builder = Builder { text, before, names, template };
    for piece in pieces {
        let is_comment = piece.kind == Kind::Quoted && is_comment(&text[piece.span.clone()]);
        match piece.kind {
            Kind::Escaped => builder.literal(piece.span.start + 1..piece.span.end),
            _ if is_comment && mode != QueryMode::Simple => builder.literal(piece.span.clone()),
            Kind::Quoted | Kind::Code => builder.piece(piece),
        }
    }
    builder.template
}

/// Whether a quoted text is a comment to the server. `/*!` and `/*+` begin text that is not.
fn is_comment(quoted: &str) -> bool {
    let is_read = quoted.starts_with("/*!") || quoted.starts_with("/*+");
    quoted.starts_with("--") || quoted.starts_with('#') || quoted.starts_with("/*") && !is_read
}

struct Builder<'a> {
    text: &'a str,
    /// What is before this is in no list of columns that is still open.
    before: usize,
    names: &'a mut Names,
    template: Template,
}

impl Builder<'_> {
    fn literal(&mut self, span: Range<usize>) {
        let text = &self.text[span];
        if let Some(Chunk::Literal(before)) = self.template.chunks.last_mut() {
            before.push_str(text);
        } else if !text.is_empty() {
            self.template.chunks.push(Chunk::Literal(text.into()));
        }
    }

    fn piece(&mut self, piece: &Piece) {
        let mut literal_start = piece.span.start;
        for span in mentions(self.text, piece.span.clone()) {
            let Some(slot) = self.variable(&span, piece.kind) else { continue };
            self.literal(literal_start..span.start);
            if self.template.obstacle.is_none()
                && let Some(place) = self.place_without_parameter(span.start, piece.kind)
            {
                self.template.obstacle = Some(format!("{} is {place}", &self.text[span.clone()]));
            }
            self.template.chunks.push(match piece.kind {
                Kind::Code if self.names.is_text(slot) => Chunk::Quoted(slot),
                _ => Chunk::Variable(slot),
            });
            literal_start = span.end;
        }
        self.literal(literal_start..piece.span.end);
    }

    /// What a variable at this place is, if no server takes a parameter there.
    fn place_without_parameter(&mut self, at: usize, kind: Kind) -> Option<&'static str> {
        if kind == Kind::Quoted {
            return Some("inside quotes");
        }
        let before = &self.text[self.before..at];
        if before.ends_with(|c| is_name(c) || c == '$') {
            return Some("a part of a name");
        }
        let Some(items) = listed_columns(before) else {
            self.before = at; // or each of many thousand variables would look at all the text
            return None;
        };
        (items.is_empty() || items.ends_with(',')).then_some("the number of a column")
    }

    /// The variable that `:name` stands for.
    fn variable(&mut self, span: &Range<usize>, kind: Kind) -> Option<Slot> {
        let slot = self.names.slot(&self.text[span.start + 1..span.end]);
        if self.names.can_be_set(slot) {
            return Some(slot);
        }
        if kind == Kind::Code {
            let message = "nothing sets this variable: it is left in the SQL unchanged";
            self.template.warnings.push(Flaw::new(span.clone(), message));
        }
        None
    }
}

/// What an `order by` or `group by` has listed at the end of this text, if it ends in one. A number
/// there is that of a column; a parameter would be a constant, which orders nothing.
fn listed_columns(before: &str) -> Option<String> {
    let before = before.to_ascii_lowercase();
    let lists = ["order", "group"].iter().filter_map(|word| before.rfind(word));
    let start = lists.max().filter(|&at| !before[..at].ends_with(is_name))?;
    let items = before[start + "order".len()..].trim_start().strip_prefix("by")?.trim();
    let is_plain = items.chars().all(|c| is_name(c) || matches!(c, ' ' | '.' | ',' | ':'));
    (is_plain && !items.contains("limit")).then(|| items.into())
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
