//! Requests and their answers, once a session is established.
//!
//! Requests are answered in the order they were sent. Outstanding ones wait in a queue; the
//! [`Stage`] is how far the answer to the oldest has been received. A request with a
//! synchronization point is answered when `ReadyForQuery` comes, a queued one as soon as its
//! command is complete. After an error the server skips everything up to the next synchronization
//! point, and so do we: each skipped request still gets its outcome.

use super::diagnostic::Diagnostic;
use super::encode;
use super::message::{self, Message};
use super::pending::{Pending, Purpose};
use super::prepared::{Preparation, Preparations, Slot, Types};
use super::reply_builder::{ReplyBuilder, column_names};
use super::session_facts::SessionFacts;
use super::stage::Stage;
use crate::event::{Outcome, PrepareFailure};
use crate::{ProtocolError, ReceiveBuffer};
use dbdyno_model::{
    FailureClass, Flow, Keep, Queue, Reply, ServerError, Statement, StatementId, prefetch,
};
use std::sync::Arc;

/// The error code of a request that the server skipped, because an earlier one of the same pipeline
/// had failed.
pub const SKIPPED: &str = "skipped";

/// How the latest request is synchronized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Synchronization {
    /// It has a synchronization point of its own.
    Own,
    /// None has been sent behind it: further requests follow in its pipeline.
    Pending,
    /// It shares one with earlier requests, whose pipeline it has ended.
    Shared,
}

/// The outstanding requests of one connection.
#[derive(Debug)]
pub(super) struct Exchange {
    queue: Queue<Pending>,
    stage: Stage,
    latest: Synchronization,
    /// An error occurred in a pipeline; the server skips up to the next synchronization point.
    skipping: bool,
    /// The answer has been delivered and is cleared before the next one.
    delivered: bool,
    pub(super) answer: ReplyBuilder,
    answered: (StatementId, Flow),
    in_transaction: bool,
    pub(super) preparations: Preparations,
    statements: Arc<[Statement]>,
    /// The last use of a prepared statement, as sent.
    pub(super) last_bound: Vec<u8>,
    /// The types of the parameters of the oldest request, which is to be sent again.
    again: Option<Types>,
    /// Outstanding preparations before the run.
    preparing: usize,
    failures: Vec<PrepareFailure>,
}

impl Exchange {
    pub(super) fn new(statements: Arc<[Statement]>) -> Self {
        Self {
            queue: Queue::default(),
            stage: Stage::Idle,
            latest: Synchronization::Own,
            skipping: false,
            delivered: false,
            answer: ReplyBuilder::default(),
            answered: (StatementId(0), Flow::Wait),
            in_transaction: false,
            preparations: Preparations::of(statements.len()),
            statements,
            last_bound: Vec::new(),
            again: None,
            preparing: 0,
            failures: Vec::new(),
        }
    }

    /// A new session begins.
    pub(super) fn reset(&mut self) {
        self.queue.clear();
        self.stage = Stage::Idle;
        self.latest = Synchronization::Own;
        (self.skipping, self.delivered, self.in_transaction) = (false, false, false);
        self.answer.clear();
        self.preparations.forget_all();
        self.preparing = 0;
        self.again = None;
        self.failures.clear();
    }

    /// Adds a request whose bytes have been written.
    #[inline]
    pub(super) fn push(&mut self, pending: Pending) {
        self.latest = match (self.latest, pending.ends_synchronized()) {
            (_, false) => Synchronization::Pending,
            (Synchronization::Pending, true) => Synchronization::Shared,
            (_, true) => Synchronization::Own,
        };
        self.queue.push_back(pending);
        self.preparing += usize::from(pending.purpose == Purpose::Preparation);
        if self.queue.len() == 1 {
            self.begin_oldest();
        }
    }

    /// Whether preparations before the run are outstanding.
    pub(super) fn has_preparations(&self) -> bool {
        self.preparing > 0
    }

    /// Prefetches what the next request reads and writes.
    pub(super) fn prefetch(&self) {
        self.preparations.prefetch();
        prefetch(&self.last_bound[..]);
    }

    /// The answer that [`Outcome::Reply`] refers to.
    pub(super) fn reply(&self) -> (StatementId, Flow, Reply<'_>) {
        let (statement, flow) = self.answered;
        (statement, flow, self.answer.reply(self.in_transaction))
    }

    /// The failures that [`Outcome::Prepared`] refers to.
    pub(super) fn prepare_failures(&self) -> &[PrepareFailure] {
        &self.failures
    }

    /// Processes the received messages up to the next outcome.
    #[inline]
    pub(super) fn poll(
        &mut self,
        buffer: &mut ReceiveBuffer,
        session: &mut SessionFacts,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        loop {
            if self.delivered {
                self.delivered = false;
                self.answer.clear();
            }
            let outcome = if self.skipping && self.oldest_is_queued() {
                Some(self.skip_oldest())
            } else {
                let Some(message) = message::next(buffer)? else { return Ok(None) };
                self.on_message(message, session, out)?
            };
            if outcome.is_some() {
                return Ok(outcome);
            }
        }
    }

    #[inline]
    fn on_message(
        &mut self,
        message: Message<'_>,
        session: &mut SessionFacts,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let Some(stage) = self.stage.after(message.tag) else {
            return self.on_asynchronous(message, session);
        };
        let before = std::mem::replace(&mut self.stage, stage);
        let Some(&oldest) = self.queue.front() else {
            return Err(unexpected(message.tag, before));
        };
        match message.tag {
            b'D' => self.answer.row(oldest.keep, message.body)?,
            b'd' => self.answer.copied_bytes += message.body.len() as u64,
            b'C' => return Ok(self.on_complete(oldest, message.body)),
            b'I' if !oldest.ends_synchronized() => return Ok(self.finish()),
            b'Z' => return self.on_ready(oldest, before, message.body, out),
            b'T' | b'n' if before == Stage::Described => self.describe(oldest, message)?,
            b'T' if oldest.keep != Keep::None => {
                self.answer.set_columns(column_names(message.body)?);
            }
            b't' => self.learn(oldest, message.body)?,
            b'E' => return self.on_error(oldest, message.body),
            b'G' | b'H' | b'W' => return Ok(self.on_copy(oldest, message.tag, out)),
            _ => {}
        }
        Ok(None)
    }

    #[inline]
    fn on_complete(&mut self, oldest: Pending, tag: &[u8]) -> Option<Outcome> {
        if let (Some(slot), true) = (oldest.slot, oldest.keep != Keep::None) {
            self.answer.set_columns(self.preparations.columns(slot));
        }
        self.answer.complete(oldest.keep, tag);
        if tag.starts_with(b"ALTER ") {
            self.preparations.retire_all();
        }
        if oldest.ends_synchronized() { None } else { self.finish() }
    }

    #[inline]
    fn on_ready(
        &mut self,
        oldest: Pending,
        before: Stage,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let too_early = before == Stage::Planned && oldest.executes();
        if too_early || !oldest.ends_synchronized() {
            return Err(unexpected(b'Z', before));
        }
        self.in_transaction = match body {
            b"I" => false,
            b"T" | b"E" => true,
            _ => return Err(ProtocolError::Malformed("an unknown transaction status")),
        };
        if self.skipping && oldest.purpose != Purpose::Sync {
            self.answer.fail(skipped());
        }
        self.skipping = false;
        if let Some(types) = self.again.take()
            && self.repeat_oldest(&types, out)
        {
            return Ok(None);
        }
        Ok(self.finish())
    }

    /// Sends the only outstanding request once more, if its text is known.
    fn repeat_oldest(&mut self, types: &[u32], out: &mut Vec<u8>) -> bool {
        let Some(oldest) = self.queue.front_mut() else { return false };
        let Some(slot) = oldest.slot else { return false };
        oldest.prepares = true;
        let statements = Arc::clone(&self.statements);
        let Some(statement) = statements.get(slot.0 as usize) else { return false };
        self.answer.clear();
        self.stage = Stage::Parsing;
        self.send_again(slot, &statement.sql, types, out);
        true
    }

    fn on_error(&mut self, oldest: Pending, body: &[u8]) -> Result<Option<Outcome>, ProtocolError> {
        let diagnostic = Diagnostic::parse(body)?;
        if diagnostic.ends_connection() {
            return Ok(Some(Outcome::Fatal(diagnostic.into())));
        }
        if let (true, Some(slot)) = (statement_is_stale(&diagnostic.code), oldest.slot) {
            // Outside a transaction, and with no earlier request that the error undoes, nothing is
            // lost yet: prepared anew, the statement may work. A
            // statement that is gone is reported: something between us and the server may lose
            // them all the time.
            let can_repeat = diagnostic.code == TABLES_CHANGED
                && !oldest.prepares
                && oldest.flow == Flow::Wait
                && self.queue.len() == 1
                && self.latest == Synchronization::Own;
            self.again = match self.preparations.at(slot) {
                Preparation::Ready(types) if can_repeat && !self.in_transaction => {
                    Some(types.clone())
                }
                _ => None,
            };
            self.preparations.set(slot, Preparation::Stale);
        }
        self.answer.fail(diagnostic.into());
        if oldest.ends_synchronized() {
            return Ok(None);
        }
        self.skipping = true;
        Ok(self.finish())
    }

    /// A COPY that the request did not announce is refused, in a way that leaves the connection
    /// usable: outgoing data is discarded, incoming data is declined.
    fn on_copy(&mut self, oldest: Pending, tag: u8, out: &mut Vec<u8>) -> Option<Outcome> {
        match (tag, oldest.purpose) {
            (b'G', Purpose::CopyIn) => return Some(Outcome::RowsWanted),
            (b'H', Purpose::CopyOut) => return None,
            _ => {}
        }
        self.answer.fail(copy_refused());
        match tag {
            b'G' => encode::copy_fail(COPY_REFUSED, out),
            b'W' => encode::copy_done(out),
            _ => return None,
        }
        // While it expects rows the server ignores Sync: one that was sent already is lost.
        let extended = self.stage == Stage::Copying;
        if extended && self.queue.iter().any(Pending::ends_synchronized) {
            encode::sync(out);
        }
        None
    }

    /// Messages that may come at any time; all others violate the protocol.
    fn on_asynchronous(
        &mut self,
        message: Message<'_>,
        session: &mut SessionFacts,
    ) -> Result<Option<Outcome>, ProtocolError> {
        match message.tag {
            b'N' => Ok(Some(Outcome::Notice(Diagnostic::parse(message.body)?))),
            b'S' => session.set_parameter(message.body).map(|()| None),
            b'A' => Ok(None),
            b'E' => {
                let diagnostic = Diagnostic::parse(message.body)?;
                if diagnostic.ends_connection() || self.stage == Stage::Idle {
                    return Ok(Some(Outcome::Fatal(diagnostic.into())));
                }
                Err(unexpected(b'E', self.stage))
            }
            tag => Err(unexpected(tag, self.stage)),
        }
    }

    fn oldest_is_queued(&self) -> bool {
        self.queue.front().is_some_and(|oldest| !oldest.ends_synchronized())
    }

    fn skip_oldest(&mut self) -> Outcome {
        self.answer.fail(skipped());
        self.finish().unwrap_or(Outcome::Reply)
    }

    /// The answer to the oldest request is complete.
    #[inline]
    fn finish(&mut self) -> Option<Outcome> {
        let finished = self.queue.pop_front()?;
        self.begin_oldest();
        self.delivered = true;
        if let (true, Some(slot)) = (finished.prepares, finished.slot) {
            self.forget_unfinished_preparation(slot);
        }
        if finished.purpose == Purpose::Preparation {
            return self.finish_preparation(finished.statement);
        }
        self.answered = (finished.statement, finished.flow);
        Some(Outcome::Reply)
    }

    #[inline]
    fn begin_oldest(&mut self) {
        self.stage = match self.queue.front() {
            None => Stage::Idle,
            Some(_) if self.skipping => Stage::Failed,
            Some(oldest) => oldest.first,
        };
    }

    fn learn(&mut self, oldest: Pending, body: &[u8]) -> Result<(), ProtocolError> {
        match oldest.slot {
            Some(slot) => self.preparations.learn(slot, body),
            None => Err(unexpected(b't', self.stage)),
        }
    }

    /// The answer to the Describe that was sent when a statement was prepared.
    fn describe(&mut self, oldest: Pending, message: Message<'_>) -> Result<(), ProtocolError> {
        let Some(slot) = oldest.slot else { return Err(unexpected(message.tag, self.stage)) };
        let has_rows = message.tag == b'T';
        let columns = if has_rows { column_names(message.body)? } else { Arc::default() };
        self.preparations.describe(slot, columns);
        Ok(())
    }

    fn forget_unfinished_preparation(&mut self, slot: Slot) {
        if *self.preparations.at(slot) == Preparation::Underway {
            self.preparations.set(slot, Preparation::Stale);
        }
    }

    fn finish_preparation(&mut self, statement: StatementId) -> Option<Outcome> {
        if let Some(error) = self.answer.error.take() {
            self.failures.push(PrepareFailure { statement, error });
        }
        self.preparing -= 1;
        (self.preparing == 0).then_some(Outcome::Prepared)
    }
}

const COPY_REFUSED: &str =
    "COPY from or to the client works in pgbench-style scripts, as a SQL command of its own";

fn copy_refused() -> ServerError {
    ServerError::new(FailureClass::Statement, "copy_refused", COPY_REFUSED)
}

fn skipped() -> ServerError {
    ServerError::new(
        FailureClass::Other,
        SKIPPED,
        "skipped after an earlier error in the same pipeline",
    )
}

/// The prepared statement is gone (`DISCARD ALL`), or its tables have changed: the next use
/// prepares it again.
fn statement_is_stale(code: &str) -> bool {
    matches!(code, "26000" | TABLES_CHANGED)
}

/// Also the code of what the server does not support.
const TABLES_CHANGED: &str = "0A000";

fn unexpected(tag: u8, stage: Stage) -> ProtocolError {
    ProtocolError::Unexpected { tag, state: stage.name() }
}
