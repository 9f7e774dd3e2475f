//! Requests and their answers, once a session is established.
//!
//! The protocol takes one command at a time: the oldest request is on its way, the others wait
//! here for their turn. So a queued request that fails does not keep the next one from being
//! executed; there are no pipelines to speak of.

use super::capability::status;
use super::column::Column;
use super::command::Command;
use super::error_packet;
use super::event::{Outcome, PrepareFailure};
use super::fields::Fields;
use super::packet::{self, BODY_BYTES_MAX, ERROR};
use super::parameter::Slot;
use super::rows::Format;
use super::statements::{Place, Preparation, Preparations, Prepared};
use crate::answer::Answer;
use crate::{ProtocolError, ReceiveBuffer};
use dbdyno_model::{FailureClass, Flow, Keep, Reply, ServerError, StatementId};
use std::collections::VecDeque;

/// The first bytes of what may come: in an answer, a command without rows that is done.
const DONE: u8 = 0;
/// A result set has no more rows.
const END: u8 = 0xfe;
/// The server wants a file.
const FILE_REQUEST: u8 = 0xfb;

/// More columns than this no server has.
const COLUMNS_MAX: u64 = 1 << 16;

/// The server does not prepare statements of this kind.
const NOT_PREPARABLE: &str = "1295";
/// The server does not know the prepared statement.
const UNKNOWN_PREPARED: &str = "1243";

/// How far the answer to the oldest request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing is outstanding.
    Idle,
    /// Sent: a command without rows is done, a result set begins, or a file is asked for.
    /// More results lead back to here.
    Sent,
    /// A result set begins: so many definitions of columns come, and what closes them.
    Columns { left: u64 },
    /// Rows, up to what closes them. They are counted; few are kept.
    Rows,
    /// A statement is to be prepared.
    Preparing,
    /// Prepared: so many definitions of parameters and columns come, and are of no interest.
    Definitions { left: u64 },
    /// The owner sends rows to load.
    Loading,
}

impl Stage {
    fn name(self) -> &'static str {
        match self {
            Self::Idle => "Idle",
            Self::Sent => "Sent",
            Self::Columns { .. } => "Columns",
            Self::Rows => "Rows",
            Self::Preparing => "Preparing",
            Self::Definitions { .. } => "Definitions",
            Self::Loading => "Loading",
        }
    }
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A script's statement.
    Statement,
    /// Preparing ahead of the run.
    Preparation,
    /// A statement that the session begins with.
    SessionCommand,
    /// Loading rows.
    Infile,
}

/// A request that has not been answered to the end.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) statement: StatementId,
    /// The prepared statement that it makes or uses.
    pub(super) place: Option<Place>,
    pub(super) purpose: Purpose,
    pub(super) keep: Keep,
    pub(super) flow: Flow,
    /// What is to be sent when its turn comes, or once more.
    pub(super) command: Option<Command<'static>>,
}

/// All that is outstanding on one connection.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) queue: VecDeque<Pending>,
    pub(super) stage: Stage,
    /// The number of the next packet.
    pub(super) sequence: u8,
    /// Whether rows are closed by a packet that both sides have agreed to do without.
    deprecates_eof: bool,
    /// How the values of rows are written.
    pub(super) format: Format,
    /// Columns of the result set, when its rows are kept.
    columns: Vec<Column>,
    /// Which parameters the statement takes that is being prepared.
    pub(super) order: Vec<u16>,
    /// The answer has been handed out and is cleared before the next one.
    delivered: bool,
    answer: Answer,
    answered: (StatementId, Flow),
    in_transaction: bool,
    pub(super) preparations: Preparations,
    failures: Vec<PrepareFailure>,
}

impl Exchange {
    pub(super) fn new(statements: usize) -> Self {
        Self {
            queue: VecDeque::new(),
            stage: Stage::Idle,
            sequence: 0,
            deprecates_eof: false,
            format: Format::Text,
            columns: Vec::new(),
            order: Vec::new(),
            delivered: false,
            answer: Answer::default(),
            answered: (StatementId(0), Flow::Wait),
            in_transaction: false,
            preparations: Preparations::of(statements),
            failures: Vec::new(),
        }
    }

    /// A new session begins.
    pub(super) fn reset(&mut self) {
        self.queue.clear();
        self.stage = Stage::Idle;
        (self.delivered, self.in_transaction) = (false, false);
        self.answer.clear();
        self.preparations.forget_all();
        self.failures.clear();
    }

    /// How result sets are closed, as both sides have agreed.
    pub(super) fn agree(&mut self, deprecates_eof: bool) {
        self.deprecates_eof = deprecates_eof;
    }

    /// The answer that [`Outcome::Reply`] speaks of.
    pub(super) fn reply(&self) -> (StatementId, Flow, Reply<'_>) {
        let (statement, flow) = self.answered;
        (statement, flow, self.answer.reply(self.in_transaction))
    }

    /// The failures that [`Outcome::Prepared`] speaks of.
    pub(super) fn prepare_failures(&self) -> &[PrepareFailure] {
        &self.failures
    }

    /// Walks the received packets up to the next outcome.
    #[inline]
    pub(super) fn poll(
        &mut self,
        buffer: &mut ReceiveBuffer,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        loop {
            if self.delivered {
                self.delivered = false;
                self.answer.clear();
            }
            let Some(body) = packet::next(buffer, &mut self.sequence)? else { return Ok(None) };
            let outcome = self.on_packet(body, out)?;
            if outcome.is_some() {
                return Ok(outcome);
            }
        }
    }

    #[inline]
    fn on_packet(
        &mut self,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let tag = *body.first().ok_or(ProtocolError::Malformed("an empty packet"))?;
        match (self.stage, tag) {
            (_, ERROR) => self.on_error(body, out),
            (Stage::Rows, END) if body.len() < BODY_BYTES_MAX => self.on_rows_end(body, out),
            (Stage::Rows, _) => self.on_row(body).map(|()| None),
            (Stage::Sent, DONE) => self.on_done(body, out),
            (Stage::Sent, FILE_REQUEST) => Ok(self.on_file_request(out)),
            (Stage::Sent, _) => self.on_column_count(body).map(|()| None),
            (Stage::Columns { left }, _) => self.on_column(left, body).map(|()| None),
            (Stage::Preparing, DONE) => self.on_prepared(body, out),
            (Stage::Definitions { left }, _) => Ok(self.on_definition(left, out)),
            (stage, tag) => Err(ProtocolError::Unexpected { tag, state: stage.name() }),
        }
    }

    fn on_column_count(&mut self, body: &[u8]) -> Result<(), ProtocolError> {
        let mut fields = Fields(body);
        let count = fields.length()?;
        if count > COLUMNS_MAX || !fields.0.is_empty() {
            return Err(ProtocolError::Malformed("a number of columns that is none"));
        }
        self.columns.clear();
        self.answer.begin_columns();
        self.stage = Stage::Columns { left: count + u64::from(!self.deprecates_eof) };
        Ok(())
    }

    fn on_column(&mut self, left: u64, body: &[u8]) -> Result<(), ProtocolError> {
        let is_definition = left > 1 || self.deprecates_eof;
        if is_definition && oldest_keep(&self.queue) != Keep::None {
            let (column, name) = Column::read(body)?;
            self.columns.push(column);
            self.answer.column(name);
        }
        self.stage = if left > 1 { Stage::Columns { left: left - 1 } } else { Stage::Rows };
        Ok(())
    }

    #[inline]
    fn on_row(&mut self, body: &[u8]) -> Result<(), ProtocolError> {
        let (columns, format) = (&self.columns, self.format);
        self.answer.row_of(oldest_keep(&self.queue), || format.read(columns, body))
    }

    /// The newer way to close a result set is worded as a command that is done.
    #[inline]
    fn on_rows_end(
        &mut self,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        if self.deprecates_eof {
            return self.on_done(body, out);
        }
        let mut fields = Fields(&body[1..]);
        fields.u16()?; // warnings
        let status = fields.u16()?;
        Ok(self.end_statement(0, status, out))
    }

    #[inline]
    fn on_done(
        &mut self,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let mut fields = Fields(&body[1..]);
        let rows_affected = fields.length()?;
        fields.length()?; // the number given to an inserted row
        let status = fields.u16()?;
        Ok(self.end_statement(rows_affected, status, out))
    }

    #[inline]
    fn end_statement(
        &mut self,
        rows_affected: u64,
        status: u16,
        out: &mut Vec<u8>,
    ) -> Option<Outcome> {
        self.answer.end_statement(oldest_keep(&self.queue), rows_affected);
        self.in_transaction = status & status::IN_TRANSACTION != 0;
        if status & status::MORE_RESULTS != 0 {
            self.stage = Stage::Sent;
            return None;
        }
        self.finish(out)
    }

    /// A file is asked for. What the owner has begun to load is sent by it; anything else is
    /// a server's attempt to read our files, and gets an empty one.
    fn on_file_request(&mut self, out: &mut Vec<u8>) -> Option<Outcome> {
        if self.queue.front().is_some_and(|oldest| oldest.purpose == Purpose::Infile) {
            self.stage = Stage::Loading;
            return Some(Outcome::InfileReady);
        }
        self.answer.fail(infile_refused());
        self.end_of_file(out);
        None
    }

    /// Rows to load; none are said by saying nothing, since an empty packet is their end.
    pub(super) fn rows(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        /// Servers take packets of 16 MiB at least.
        const PART_BYTES: usize = 1 << 20;
        for part in rows.chunks(PART_BYTES) {
            packet::write(out, self.sequence, |out| out.extend_from_slice(part));
            self.sequence = self.sequence.wrapping_add(1);
        }
    }

    pub(super) fn end_of_file(&mut self, out: &mut Vec<u8>) {
        packet::write(out, self.sequence, |_| {});
        self.sequence = self.sequence.wrapping_add(1);
        self.stage = Stage::Sent;
    }

    /// A statement is prepared. Its definitions follow, each kind closed on its own.
    fn on_prepared(
        &mut self,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let mut fields = Fields(&body[1..]);
        let number = fields.u32()?;
        let (columns, parameters) = (fields.u16()?, fields.u16()?);
        if usize::from(parameters) == self.order.len() {
            let slots = self.order.iter().map(|&parameter| Slot::new(parameter)).collect();
            self.note(Preparation::Ready(Prepared { number, slots }));
        } else {
            self.answer.fail(miscounted(parameters, self.order.len()));
        }
        let closing = |count: u16| u64::from(count > 0 && !self.deprecates_eof);
        let left =
            u64::from(columns) + u64::from(parameters) + closing(columns) + closing(parameters);
        self.stage = Stage::Definitions { left };
        Ok(if left == 0 { self.after_preparing(out) } else { None })
    }

    fn on_definition(&mut self, left: u64, out: &mut Vec<u8>) -> Option<Outcome> {
        self.stage = Stage::Definitions { left: left - 1 };
        if left > 1 { None } else { self.after_preparing(out) }
    }

    /// Notes how far the oldest request's prepared statement is.
    fn note(&mut self, preparation: Preparation) {
        if let Some(place) = self.queue.front().and_then(|oldest| oldest.place) {
            self.preparations.set(place, preparation);
        }
    }

    /// Whether the statement can be prepared is known. If it was to be executed, it is now.
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

    fn on_error(
        &mut self,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let error = error_packet::read(body)?;
        let is_asked_for = !matches!(self.stage, Stage::Idle | Stage::Loading);
        if !is_asked_for || error_packet::ends_connection(&error) {
            return Ok(Some(Outcome::Fatal(error)));
        }
        if self.stage == Stage::Preparing {
            return Ok(self.on_preparing_failed(error, out));
        }
        self.forget(&error);
        self.answer.fail(error);
        Ok(self.finish(out))
    }

    fn on_preparing_failed(&mut self, error: ServerError, out: &mut Vec<u8>) -> Option<Outcome> {
        if error.code == NOT_PREPARABLE && self.order.is_empty() {
            self.note(Preparation::Textual);
        } else {
            self.answer.fail(error);
        }
        self.after_preparing(out)
    }

    /// What a failed execution makes doubtful: the statement itself, or the types of its
    /// parameters.
    fn forget(&mut self, error: &ServerError) {
        let Some(place) = self.queue.front().and_then(|oldest| oldest.place) else { return };
        if error.code == UNKNOWN_PREPARED {
            self.preparations.set(place, Preparation::Absent);
        } else {
            self.preparations.unbind(place);
        }
    }

    /// The oldest request has its whole answer; the next one is sent.
    #[inline]
    fn finish(&mut self, out: &mut Vec<u8>) -> Option<Outcome> {
        let finished = self.queue.pop_front()?;
        self.delivered = true;
        self.stage = Stage::Idle;
        if !self.queue.is_empty() {
            self.send_oldest(out);
        }
        if finished.purpose == Purpose::Statement {
            self.answered = (finished.statement, finished.flow);
            return Some(Outcome::Reply);
        }
        self.finish_other(&finished)
    }

    fn finish_other(&mut self, finished: &Pending) -> Option<Outcome> {
        let is_last = self.queue.front().is_none_or(|next| next.purpose != finished.purpose);
        match finished.purpose {
            Purpose::Preparation => {
                if let Some(error) = self.answer.error.take() {
                    let statement = finished.statement;
                    self.failures.push(PrepareFailure { statement, error });
                }
                is_last.then_some(Outcome::Prepared)
            }
            Purpose::SessionCommand => match self.answer.error.take() {
                Some(error) => Some(Outcome::Fatal(error)),
                None => is_last.then_some(Outcome::Ready),
            },
            Purpose::Statement | Purpose::Infile => {
                self.answered = (finished.statement, finished.flow);
                Some(Outcome::Reply)
            }
        }
    }
}

/// What to keep of the answer that is coming.
#[inline]
fn oldest_keep(queue: &VecDeque<Pending>) -> Keep {
    queue.front().map_or(Keep::None, |oldest| oldest.keep)
}

fn infile_refused() -> ServerError {
    ServerError {
        class: FailureClass::Statement,
        code: "infile_refused".into(),
        message: "the server asked for a file; LOAD DATA LOCAL has no place in a script".into(),
    }
}

fn miscounted(server: u16, own: usize) -> ServerError {
    ServerError {
        class: FailureClass::Statement,
        code: "parameters".into(),
        message: format!("the server counts {server} parameters in the statement, not {own}"),
    }
}
