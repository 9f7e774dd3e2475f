//! A row as text: its values with a separator byte between them. The caller encodes the values, and
//! writes what begins and ends a row.

use std::io::Write;

/// A row being written.
pub(super) struct Separated<'a> {
    text: &'a mut Vec<u8>,
    between: u8,
    begun: bool,
}

impl<'a> Separated<'a> {
    pub(super) fn new(text: &'a mut Vec<u8>, between: u8) -> Self {
        Self { text, between, begun: false }
    }

    /// The buffer, positioned for the next value.
    pub(super) fn value(&mut self) -> &mut Vec<u8> {
        if std::mem::replace(&mut self.begun, true) {
            self.text.push(self.between);
        }
        self.text
    }

    pub(super) fn number(&mut self, number: i64) {
        let _ = write!(self.value(), "{number}");
    }
}
