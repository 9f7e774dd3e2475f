//! A row as text: its values one after the other, with a byte between them. How a value is
//! written, and what begins and ends a row, is the business of whoever writes it.

use std::io::Write;

/// A row that is being written.
pub(super) struct Separated<'a> {
    text: &'a mut Vec<u8>,
    between: u8,
    begun: bool,
}

impl<'a> Separated<'a> {
    pub(super) fn new(text: &'a mut Vec<u8>, between: u8) -> Self {
        Self { text, between, begun: false }
    }

    /// Where the next value goes.
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
