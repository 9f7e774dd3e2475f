//! One connection: bytes in, events out.
//!
//! The owner moves the bytes. It receives into `receive_space` (or passes bytes to `feed`), calls
//! `poll` until that returns nothing more, and sends whatever was appended to `out`. Requests may
//! be made from `Ready` on, also while earlier ones are outstanding.

use super::command::{self, Command};
use super::config::{Config, Opening};
use super::event::{Event, Outcome};
use super::exchange::Exchange;
use super::login::Login;
use super::packet;
use super::pending::Purpose;
use super::request::Meta;
use super::session::Session;
use crate::{ProtocolError, ReceiveBuffer};
use dbdyno_model::{QueryMode, Request, Statement, StatementId};
use std::sync::Arc;

/// A connection to a server of the MySQL family, without the socket.
#[derive(Debug)]
pub struct Connection {
    config: Arc<Config>,
    statements: Arc<[Statement]>,
    buffer: ReceiveBuffer,
    phase: Phase,
    session: Session,
    exchange: Exchange,
}

/// The phase of a connection.
#[derive(Debug)]
enum Phase {
    /// Not started yet, or ended: received bytes are ignored.
    Closed,
    /// Logging in. Leaves to `Established` when the server accepts, to `Closed` when the login
    /// fails.
    LoggingIn(Box<Login>),
    /// Requests and answers, until a fatal error.
    Established,
}

impl Connection {
    /// A connection that has not been started.
    pub fn new(config: Arc<Config>, statements: Arc<[Statement]>) -> Self {
        let exchange = Exchange::new(statements.len());
        Self {
            config,
            statements,
            buffer: ReceiveBuffer::default(),
            phase: Phase::Closed,
            session: Session::default(),
            exchange,
        }
    }

    /// Starts a session over a new transport. The state of an earlier session is discarded. The
    /// server speaks first, so nothing is written yet.
    pub fn start(&mut self, opening: Opening, _out: &mut Vec<u8>) {
        self.buffer.clear();
        self.session = Session::default();
        self.exchange.reset();
        self.phase = Phase::LoggingIn(Box::new(Login::new(opening)));
    }

    /// The space to receive into. It stays in place until this or `feed` is called again. Never
    /// empty after `poll` has returned nothing more.
    #[inline]
    pub fn receive_space(&mut self) -> &mut [u8] {
        self.buffer.space()
    }

    /// The first `count` bytes of the space were received.
    #[inline]
    pub fn received(&mut self, count: usize) {
        self.buffer.filled(count);
    }

    /// Copies received bytes in and returns how many were taken: fewer than all only when the
    /// buffer is at its limit; then call `poll`, and pass the rest.
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        self.buffer.feed(bytes)
    }

    /// The channel has been encrypted, as [`Event::StartTls`] asked: the login continues inside.
    pub fn encrypted(&mut self, out: &mut Vec<u8>) {
        if let Phase::LoggingIn(login) = &mut self.phase {
            login.encrypted(&self.config, out);
        }
    }

    /// The next event, if the received bytes contain one. What must be sent in response is appended
    /// to `out`. After an error or a fatal event the connection is closed.
    #[inline]
    pub fn poll(&mut self, out: &mut Vec<u8>) -> Result<Option<Event<'_>>, ProtocolError> {
        match self.advance(out) {
            Ok(None) => Ok(None),
            Ok(Some(outcome)) => Ok(Some(self.event(outcome))),
            Err(error) => {
                self.phase = Phase::Closed;
                Err(error)
            }
        }
    }

    #[inline]
    fn advance(&mut self, out: &mut Vec<u8>) -> Result<Option<Outcome>, ProtocolError> {
        match &mut self.phase {
            Phase::Established => self.exchange.poll(&mut self.buffer, out),
            Phase::LoggingIn(_) => self.log_in(out),
            Phase::Closed => Ok(None),
        }
    }

    fn log_in(&mut self, out: &mut Vec<u8>) -> Result<Option<Outcome>, ProtocolError> {
        let Phase::LoggingIn(login) = &mut self.phase else { return Ok(None) };
        loop {
            if login.awaits_tls() {
                return refuse_unencrypted_bytes(&self.buffer).map(|()| None);
            }
            let Some(body) = packet::next(&mut self.buffer, &mut login.sequence)? else {
                return Ok(None);
            };
            let outcome = login.on_packet(body, &self.config, &mut self.session, out)?;
            match outcome {
                None => {}
                Some(Outcome::StartTls) => {
                    return refuse_unencrypted_bytes(&self.buffer).map(|()| outcome);
                }
                Some(Outcome::Ready) => {
                    self.exchange.agree(login.deprecates_eof());
                    self.phase = Phase::Established;
                    return Ok(self.begin_session(out));
                }
                other => return Ok(other),
            }
        }
    }

    /// Sends the statements that each session starts with; ready, if there are none.
    fn begin_session(&mut self, out: &mut Vec<u8>) -> Option<Outcome> {
        for sql in &self.config.session_commands {
            let meta = Meta::of(StatementId::UNCOUNTED, Purpose::SessionCommand);
            self.exchange.submit(meta, Command::Query(sql.as_str().into()), out);
        }
        self.config.session_commands.is_empty().then_some(Outcome::Ready)
    }

    #[inline]
    fn event(&mut self, outcome: Outcome) -> Event<'_> {
        match outcome {
            Outcome::Reply => {
                let (statement, flow, reply) = self.exchange.reply();
                Event::Reply { statement, flow, reply }
            }
            Outcome::StartTls => Event::StartTls,
            Outcome::Ready => Event::Ready(&self.session),
            Outcome::Prepared => Event::Prepared { failures: self.exchange.prepare_failures() },
            Outcome::InfileReady => Event::InfileReady,
            Outcome::Fatal(error) => {
                self.phase = Phase::Closed;
                Event::Fatal(error)
            }
        }
    }

    /// Prepares all statements of the table; returns whether an [`Event::Prepared`] will follow. In
    /// the other query modes, and if no statement is to be prepared, there is nothing to do.
    pub fn prepare_all(&mut self, out: &mut Vec<u8>) -> bool {
        let wanted = self.config.query_mode == QueryMode::Prepared
            && self.statements.iter().any(|statement| statement.as_text.is_none());
        if wanted {
            self.exchange.prepare_all(&self.statements, out);
        }
        wanted
    }

    /// Encodes a request. An [`Event::Reply`] will follow.
    #[inline]
    pub fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        self.exchange.request(request, &self.statements, out);
    }

    /// Starts to load rows with `sql`, a `LOAD DATA LOCAL INFILE …` with any file name. An
    /// [`Event::InfileReady`] follows, or a reply with the error.
    pub fn infile_begin(&mut self, statement: StatementId, sql: &str, out: &mut Vec<u8>) {
        let meta = Meta::of(statement, Purpose::Infile);
        self.exchange.submit(meta, Command::Query(sql.into()), out);
    }

    /// Rows, as the contents of the file that the server asked for.
    pub fn infile_rows(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.exchange.rows(bytes, out);
    }

    /// All rows have been sent.
    pub fn infile_done(&mut self, out: &mut Vec<u8>) {
        self.exchange.end_of_file(out);
    }

    /// What the server has reported about the session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The statement that kills what this session is executing, for another session to run.
    pub fn kill_statement(&self) -> String {
        format!("KILL QUERY {}", self.session.connection_id)
    }

    /// The message that ends the session.
    pub fn terminate(&mut self, out: &mut Vec<u8>) {
        command::quit(out);
        self.phase = Phase::Closed;
    }
}

/// Checks that nothing more was received: unencrypted bytes must never be taken for encrypted ones.
fn refuse_unencrypted_bytes(buffer: &ReceiveBuffer) -> Result<(), ProtocolError> {
    if buffer.unread().is_empty() {
        Ok(())
    } else {
        Err(ProtocolError::Malformed("unencrypted bytes after the request for encryption"))
    }
}
