//! Handles the server's answer to preparing a statement.

use super::command;
use super::exchange::Exchange;
use super::fields::Fields;
use super::parameter::Slot;
use super::pending::Stage;
use super::statements::{Preparation, Prepared};
use crate::ProtocolError;
use crate::event::Outcome;
use dbdyno_model::{FailureClass, ServerError};
use std::sync::Arc;

/// The error that the server cannot prepare statements of this kind.
const NOT_PREPARABLE: &str = "1295";

impl Exchange {
    /// A statement is prepared. Its definitions follow, each kind ended on its own.
    pub(super) fn on_prepared(
        &mut self,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let mut fields = Fields(&body[1..]);
        let number = fields.u32()?;
        let (columns, parameters) = (fields.u16()?, fields.u16()?);
        if usize::from(parameters) == self.order.len() {
            let slots = self.order.iter().map(|&parameter| Slot::new(parameter)).collect();
            self.note(Preparation::Ready(Prepared { number, slots, columns: Arc::default() }));
        } else {
            self.answer.fail(miscounted(parameters, self.order.len()));
            // It is of no use, and the server limits the number of all that are open.
            command::close(number, out);
        }
        let closing = |count: u16| u64::from(count > 0 && !self.deprecates_eof);
        let left =
            u64::from(columns) + u64::from(parameters) + closing(columns) + closing(parameters);
        self.stage = Stage::Definitions { left };
        Ok(if left == 0 { self.after_preparing(out) } else { None })
    }

    pub(super) fn on_definition(&mut self, left: u64, out: &mut Vec<u8>) -> Option<Outcome> {
        self.stage = Stage::Definitions { left: left - 1 };
        if left > 1 { None } else { self.after_preparing(out) }
    }

    /// Records the state of the oldest request's prepared statement.
    fn note(&mut self, preparation: Preparation) {
        if let Some(place) = self.queue.front().and_then(|oldest| oldest.place) {
            self.preparations.set(place, preparation);
        }
    }

    /// Preparing has succeeded or failed. If the statement was to be executed, it is now.
    fn after_preparing(&mut self, out: &mut Vec<u8>) -> Option<Outcome> {
        let waiting = self.queue.front_mut().and_then(|oldest| oldest.command.take());
        match waiting {
            Some(command) if self.answer.error.is_none() => {
                self.send(&command, out);
                None
            }
            _ => self.finish(out),
        }
    }

    pub(super) fn on_preparing_failed(
        &mut self,
        error: ServerError,
        out: &mut Vec<u8>,
    ) -> Option<Outcome> {
        if error.code == NOT_PREPARABLE && self.order.is_empty() {
            self.note(Preparation::Textual);
        } else {
            self.answer.fail(error);
        }
        self.after_preparing(out)
    }
}

fn miscounted(server: u16, own: usize) -> ServerError {
    ServerError::new(
        FailureClass::Statement,
        "parameters",
        format!("the server counts {server} parameters in the statement, not {own}"),
    )
}
