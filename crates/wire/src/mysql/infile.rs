//! `LOAD DATA LOCAL INFILE`: the server asks for a file by its name, and the client sends any
//! contents.
//!
//! We read no files. What the owner has started to load is sent by the owner; any other request for
//! a file is an attempt to read ours, and is answered with an empty one.

use super::exchange::Exchange;
use super::packet;
use super::pending::{Purpose, Stage};
use crate::event::Outcome;
use dbdyno_model::{FailureClass, ServerError};

/// Every server accepts packets of at least 16 MiB.
const PART_BYTES: usize = 1 << 20;

impl Exchange {
    /// The server asks for a file.
    pub(super) fn on_file_request(&mut self, out: &mut Vec<u8>) -> Option<Outcome> {
        if self.queue.front().is_some_and(|oldest| oldest.purpose == Purpose::Infile) {
            self.stage = Stage::Loading;
            return Some(Outcome::RowsWanted);
        }
        self.answer.fail(infile_refused());
        self.end_of_file(out);
        None
    }

    /// Rows to load. Nothing is sent for no rows, since an empty packet ends the file.
    pub(super) fn rows(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        for part in rows.chunks(PART_BYTES) {
            packet::write(out, self.sequence, |out| out.extend_from_slice(part));
            self.sequence = self.sequence.wrapping_add(1);
        }
    }

    /// Ends the file.
    pub(super) fn end_of_file(&mut self, out: &mut Vec<u8>) {
        packet::write(out, self.sequence, |_| {});
        self.sequence = self.sequence.wrapping_add(1);
        self.stage = Stage::Sent;
    }
}

fn infile_refused() -> ServerError {
    ServerError::new(
        FailureClass::Statement,
        "infile_refused",
        "the server asked for a file; LOAD DATA LOCAL has no place in a script",
    )
}
