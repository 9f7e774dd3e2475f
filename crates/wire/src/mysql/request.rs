//! Converts requests to commands and sends them: the outgoing side of an [`Exchange`].

use super::command::{self, Command};
use super::exchange::Exchange;
use super::packet;
use super::pending::{Pending, Purpose, Stage};
use super::rows::Format;
use super::statements::{Place, Preparation, Preparations};
use dbdyno_model::{Flow, Keep, Request, Statement, StatementId};
use dbdyno_sql::{Dialect, positional};

/// The properties of a request besides its command.
#[derive(Clone, Copy)]
pub(super) struct Meta {
    pub(super) statement: StatementId,
    pub(super) purpose: Purpose,
    pub(super) keep: Keep,
    pub(super) flow: Flow,
}

impl Meta {
    pub(super) fn of(statement: StatementId, purpose: Purpose) -> Self {
        Self { statement, purpose, keep: Keep::None, flow: Flow::Wait }
    }
}

impl Exchange {
    /// Sends a script's request, or queues it.
    #[inline]
    pub(super) fn request(
        &mut self,
        request: &Request<'_>,
        statements: &[Statement],
        out: &mut Vec<u8>,
    ) {
        let meta = |keep, flow| Meta {
            statement: request.statement(),
            purpose: Purpose::Statement,
            keep,
            flow,
        };
        match *request {
            Request::Parameterized { statement, parameters, keep, flow } => {
                let place = Preparations::planned(statement);
                let sql = sql_of(statements, statement).into();
                let parameters = parameters.into();
                self.submit(meta(keep, flow), Command::Execute { place, sql, parameters }, out);
            }
            Request::Execute { prepared, sql, parameters, keep, .. } => {
                let place = self.preparations.scripted(prepared);
                let (sql, parameters) = (sql.into(), parameters.into());
                let command = Command::Execute { place, sql, parameters };
                self.submit(meta(keep, Flow::Wait), command, out);
            }
            Request::Prepare { prepared, sql, .. } => {
                let place = self.preparations.scripted(prepared);
                let command = Command::Prepare { place, sql: sql.into() };
                self.submit(meta(Keep::None, Flow::Wait), command, out);
            }
            Request::Text { sql, keep, .. } | Request::TextInPipeline { sql, keep, .. } => {
                self.submit(meta(keep, request.flow()), Command::Query(sql.into()), out);
            }
            // Scripts with a COPY are refused for this protocol.
            Request::Copy { .. } | Request::CopyRows { .. } | Request::CopyFail { .. } => {}
            Request::Sync { flow, .. } => self.submit(meta(Keep::None, flow), Command::Ping, out),
        }
    }

    /// Prepares every statement of the plan that is not sent as text.
    pub(super) fn prepare_all(&mut self, statements: &[Statement], out: &mut Vec<u8>) {
        for (number, statement) in (0..).zip(statements) {
            if statement.as_text.is_some() {
                continue;
            }
            let id = StatementId(number);
            let place = Preparations::planned(id);
            let command = Command::Prepare { place, sql: statement.sql.as_str().into() };
            self.submit(Meta::of(id, Purpose::Preparation), command, out);
        }
    }

    /// Sends a command now if nothing is outstanding, otherwise queues it.
    #[inline]
    pub(super) fn submit(&mut self, meta: Meta, command: Command<'_>, out: &mut Vec<u8>) {
        let Meta { statement, purpose, keep, flow } = meta;
        let place = command.place();
        let waits = !self.queue.is_empty() || self.send(&command, out) == Sent::Again;
        let command = if waits { Some(command.into_owned()) } else { None };
        self.queue.push_back(Pending { statement, place, purpose, keep, flow, command });
    }

    /// Sends the request that is now the oldest.
    pub(super) fn send_oldest(&mut self, out: &mut Vec<u8>) {
        let Some(command) = self.queue.front_mut().and_then(|oldest| oldest.command.take()) else {
            return;
        };
        if self.send(&command, out) == Sent::Again
            && let Some(oldest) = self.queue.front_mut()
        {
            oldest.command = Some(command);
        }
    }

    /// Writes a command, and sets the expected answer.
    #[inline]
    pub(super) fn send(&mut self, command: &Command<'_>, out: &mut Vec<u8>) -> Sent {
        if let Command::Prepare { place, .. } = command {
            self.retire(*place, out);
        }
        let start = out.len();
        self.format = Format::Text;
        self.stage = Stage::Sent;
        let sent = self.write(command, out);
        self.sequence = packet::packet_count(out.len() - start);
        sent
    }

    #[inline]
    fn write(&mut self, command: &Command<'_>, out: &mut Vec<u8>) -> Sent {
        match command {
            Command::Query(sql) => command::query(sql, out),
            Command::Ping => command::ping(out),
            Command::Prepare { sql, .. } => self.write_prepare(sql, out),
            Command::Execute { place, sql, parameters } => {
                if let Some(prepared) = self.preparations.prepared(*place) {
                    command::execute(prepared, parameters, out);
                    self.format = Format::Binary;
                } else if *self.preparations.at(*place) == Preparation::Textual {
                    command::query(sql, out);
                } else {
                    self.write_prepare(sql, out);
                    return Sent::Again;
                }
            }
        }
        Sent::Whole
    }

    /// A statement with another text is about to use this index: closes the old one first.
    fn retire(&mut self, place: Place, out: &mut Vec<u8>) {
        if let Preparation::Ready(old) = self.preparations.set(place, Preparation::Absent) {
            command::close(old.number, out);
        }
    }

    fn write_prepare(&mut self, sql: &str, out: &mut Vec<u8>) {
        let translated = positional(sql, Dialect::Mysql);
        command::prepare(translated.sql.as_bytes(), out);
        self.order = translated.order;
        self.stage = Stage::Preparing;
    }
}

/// How much of a command has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// All of it.
    Whole,
    /// Only the preparation of its statement: the command is sent again after that.
    Again,
}

/// The statement's text. An unknown one is a mistake of the caller; the server then refuses an
/// empty query.
fn sql_of(statements: &[Statement], id: StatementId) -> &str {
    statements.get(id.0 as usize).map_or("", |statement| &statement.sql)
}
