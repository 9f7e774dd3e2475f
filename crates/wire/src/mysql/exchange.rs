//! Requests and their answers, once a session is established.
//!
//! The protocol allows one command at a time: the oldest request has been sent, the others wait
//! here. So a failed request does not prevent the next one from being executed; there are no real
//! pipelines.

use super::capability::status;
use super::column::Column;
use super::error_packet;
use super::fields::Fields;
use super::packet::{self, BODY_BYTES_MAX, ERROR};
use super::pending::{Pending, Purpose, Stage};
use super::rows::Format;
use super::statements::{Preparation, Preparations, Prepared};
use crate::column_names::ColumnNames;
use crate::event::{Outcome, PrepareFailure};
use crate::reply_builder::ReplyBuilder;
use crate::{ProtocolError, ReceiveBuffer};
use dbdyno_model::{Flow, Keep, Queue, Reply, ServerError, StatementId};
use std::sync::Arc;

/// The first byte of an OK packet.
const DONE: u8 = 0;
/// The first byte of the packet that ends a result set.
const END: u8 = 0xfe;
/// The first byte of a request for a file.
const FILE_REQUEST: u8 = 0xfb;

/// More columns than any server supports.
const COLUMNS_MAX: u64 = 1 << 16;

/// The error that the server does not know the prepared statement.
const UNKNOWN_PREPARED: &str = "1243";

/// The outstanding requests of one connection.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) queue: Queue<Pending>,
    pub(super) stage: Stage,
    /// The number of the next packet.
    pub(super) sequence: u8,
    /// Whether result sets have no EOF packet after the columns, as both sides have agreed.
    pub(super) deprecates_eof: bool,
    /// The format of row values.
    pub(super) format: Format,
    /// The columns of the result set, when its rows are kept.
    columns: Vec<Column>,
    names: ColumnNames,
    /// The parameters of the statement being prepared, in order.
    pub(super) order: Vec<u16>,
    /// The answer has been delivered and is cleared before the next one.
    delivered: bool,
    pub(super) answer: ReplyBuilder,
    answered: (StatementId, Flow),
    in_transaction: bool,
    pub(super) preparations: Preparations,
    failures: Vec<PrepareFailure>,
}

impl Exchange {
    pub(super) fn new(statements: usize) -> Self {
        Self {
            queue: Queue::default(),
            stage: Stage::Idle,
            sequence: 0,
            deprecates_eof: false,
            format: Format::Text,
            columns: Vec::new(),
            names: ColumnNames::default(),
            order: Vec::new(),
            delivered: false,
            answer: ReplyBuilder::default(),
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

    /// Sets how result sets end, as both sides have agreed.
    pub(super) fn agree(&mut self, deprecates_eof: bool) {
        self.deprecates_eof = deprecates_eof;
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

    /// Processes the received packets up to the next outcome.
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
            return Err(ProtocolError::Malformed("an invalid number of columns"));
        }
        self.columns.clear();
        let known = self.oldest_prepared().map(|prepared| Arc::clone(&prepared.columns));
        self.names.begin(known.unwrap_or_default());
        self.stage = Stage::Columns { left: count + u64::from(!self.deprecates_eof) };
        Ok(())
    }

    fn on_column(&mut self, left: u64, body: &[u8]) -> Result<(), ProtocolError> {
        let is_definition = left > 1 || self.deprecates_eof;
        if is_definition && oldest_keep(&self.queue) != Keep::None {
            let (column, name) = Column::read(body)?;
            self.columns.push(column);
            self.names.add(name)?;
        }
        if left > 1 {
            self.stage = Stage::Columns { left: left - 1 };
        } else {
            self.stage = Stage::Rows;
            self.on_columns_end();
        }
        Ok(())
    }

    fn on_columns_end(&mut self) {
        if oldest_keep(&self.queue) == Keep::None {
            return;
        }
        let names = self.names.end();
        if let Some(prepared) = self.oldest_prepared() {
            prepared.columns = Arc::clone(&names);
        }
        self.answer.set_columns(names);
    }

    fn oldest_prepared(&mut self) -> Option<&mut Prepared> {
        self.preparations.prepared(self.queue.front()?.place?)
    }

    #[inline]
    fn on_row(&mut self, body: &[u8]) -> Result<(), ProtocolError> {
        let (columns, format) = (&self.columns, self.format);
        self.answer.row_of(oldest_keep(&self.queue), |row| format.read(columns, body, row))
    }

    /// The newer end of a result set has the format of an OK packet.
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
        fields.length()?; // the last insert ID
        let status = fields.u16()?;
        if rows_affected == 0 && self.stage == Stage::Sent {
            self.answer.touch(rows_matched(fields));
        }
        Ok(self.end_statement(rows_affected, status, out))
    }

    #[inline]
    fn end_statement(
        &mut self,
        rows_affected: u64,
        status: u16,
        out: &mut Vec<u8>,
    ) -> Option<Outcome> {
        // In a prepared statement's answer, only a procedure's own OK follows result sets.
        let is_of_procedure =
            self.format == Format::Binary && self.stage == Stage::Sent && self.answer.has_results();
        let keep = if is_of_procedure { Keep::None } else { oldest_keep(&self.queue) };
        self.answer.end_statement(keep, rows_affected);
        self.in_transaction = status & status::IN_TRANSACTION != 0;
        if status & status::MORE_RESULTS != 0 {
            self.stage = Stage::Sent;
            return None;
        }
        self.finish(out)
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

    /// After a failed execution, the statement itself or the types of its parameters may be unknown
    /// to the server.
    fn forget(&mut self, error: &ServerError) {
        let Some(place) = self.queue.front().and_then(|oldest| oldest.place) else { return };
        if error.code == UNKNOWN_PREPARED {
            self.preparations.set(place, Preparation::Absent);
        } else {
            self.preparations.unbind(place);
        }
    }

    /// The answer to the oldest request is complete; the next request is sent.
    #[inline]
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> Option<Outcome> {
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

/// The rows that an update found although it changed none of them: an update that assigns what is
/// there already affects no row. They are the first number of the text at the end of an OK packet
/// (`Rows matched: 1  Changed: 0  Warnings: 0`), whose words are in the server's language.
fn rows_matched(after_status: Fields<'_>) -> u64 {
    let Some(text) = after_status.0.get(size_of::<u16>()..) else { return 0 }; // after warnings
    // The byte before the text is its length, which may look like a digit.
    let digits = text.iter().skip(1).skip_while(|byte| !byte.is_ascii_digit());
    digits
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |sum: u64, digit| sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

/// What to keep of the answer being received.
#[inline]
fn oldest_keep(queue: &Queue<Pending>) -> Keep {
    queue.front().map_or(Keep::None, |oldest| oldest.keep)
}
