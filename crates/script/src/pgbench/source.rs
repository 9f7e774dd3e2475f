//! A script's text and positions in it.
//!
//! Everything else uses byte offsets; here they become lines and columns for people. Finds no
//! problems itself.

use crate::problem::{Problem, Severity};
use std::ops::Range;

/// A part of a script that is wrong, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) span: Range<usize>,
    pub(super) message: String,
}

impl Flaw {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into() }
    }
}

/// A named text.
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> Source<'a> {
    pub(super) fn new(name: &'a str, text: &'a str) -> Self {
        let after_newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { name, text, line_starts: std::iter::once(0).chain(after_newlines).collect() }
    }

    /// The line that holds the offset, from 1.
    pub(super) fn line(&self, offset: usize) -> u32 {
        self.line_starts.partition_point(|&start| start <= offset) as u32
    }

    /// The column of the offset in characters, from 1.
    fn column(&self, offset: usize) -> u32 {
        let start = self.line_starts[self.line(offset) as usize - 1];
        self.text[start..offset].chars().count() as u32 + 1
    }

    /// The problem to show to people.
    pub(super) fn problem(&self, severity: Severity, flaw: Flaw) -> Problem {
        Problem {
            severity,
            script: self.name.into(),
            line: self.line(flaw.span.start),
            column: self.column(flaw.span.start),
            text: self.text[flaw.span].trim_end().into(),
            message: flaw.message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Flaw, Source};
    use crate::problem::Severity;

    #[test]
    fn columns_count_characters_and_lines_count_newlines() {
        let source = Source::new("s", "é\n\n añ:x\n");
        let at = source.text.find(":x").unwrap();
        let problem = source.problem(Severity::Error, Flaw::new(at..at + 2, "no"));
        assert_eq!((problem.line, problem.column, problem.text.as_str()), (3, 4, ":x"));
        assert_eq!(source.line(source.text.len()), 4);
    }
}
