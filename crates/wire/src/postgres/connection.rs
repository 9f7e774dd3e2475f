//! One connection: bytes in, events out.
//!
//! The owner moves the bytes. It receives into `receive_space` (or passes bytes to `feed`), calls
//! `poll` until that returns nothing more, and sends whatever was appended to `out`. Requests may
//! be made from `Ready` on, also while earlier ones are outstanding.

use super::config::{Config, Opening};
use super::event::{Event, Outcome};
use super::exchange::Exchange;
use super::login::Login;
use super::pending::Purpose;
use super::session::Session;
use super::{encode, message};
use crate::{ProtocolError, ReceiveBuffer};
use dbdyno_model::{Keep, QueryMode, Request, Statement, StatementId};
use std::sync::Arc;

/// A connection to a PostgreSQL server, without the socket.
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
    /// Logging in. Leaves to `Established` at the first `ReadyForQuery`, to `Closed` when the login
    /// fails.
    LoggingIn(Box<Login>),
    /// Requests and answers, until a fatal error.
    Established,
}

impl Connection {
    /// A connection that has not been started.
    pub fn new(config: Arc<Config>, statements: Arc<[Statement]>) -> Self {
        let exchange = Exchange::new(Arc::clone(&statements));
        Self {
            config,
            statements,
            buffer: ReceiveBuffer::default(),
            phase: Phase::Closed,
            session: Session::default(),
            exchange,
        }
    }

    /// Starts a session over a new transport. The state of an earlier session is discarded.
    pub fn start(&mut self, opening: Opening, out: &mut Vec<u8>) {
        self.buffer.clear();
        self.session = Session::default();
        self.exchange.reset();
        self.phase = Phase::LoggingIn(Box::new(Login::start(opening, &self.config, out)));
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
            Phase::Established => self.exchange.poll(&mut self.buffer, &mut self.session, out),
            Phase::LoggingIn(_) => self.log_in(out),
            Phase::Closed => Ok(None),
        }
    }

    fn log_in(&mut self, out: &mut Vec<u8>) -> Result<Option<Outcome>, ProtocolError> {
        let Phase::LoggingIn(login) = &mut self.phase else { return Ok(None) };
        while let Some(message) = message::next(&mut self.buffer)? {
            let outcome = login.on_message(message, &self.config, &mut self.session, out)?;
            if outcome.is_some() {
                return Ok(outcome);
            }
        }
        Ok(None)
    }

    #[inline]
    fn event(&mut self, outcome: Outcome) -> Event<'_> {
        match outcome {
            Outcome::Reply => {
                let (statement, flow, reply) = self.exchange.reply();
                Event::Reply { statement, flow, reply }
            }
            Outcome::Ready => {
                self.phase = Phase::Established;
                Event::Ready(&self.session)
            }
            Outcome::Prepared => Event::Prepared { failures: self.exchange.prepare_failures() },
            Outcome::CopyInReady => Event::CopyInReady,
            Outcome::Notice(diagnostic) => Event::Notice(diagnostic),
            Outcome::VersionRefused(error) => {
                self.phase = Phase::Closed;
                Event::VersionRefused(error)
            }
            Outcome::Fatal(error) => {
                self.phase = Phase::Closed;
                Event::Fatal(error)
            }
        }
    }

    /// Whether a version that not every server knows was asked for, and nothing has been answered.
    pub fn awaits_version(&self) -> bool {
        matches!(&self.phase, Phase::LoggingIn(login) if login.awaits_version())
    }

    /// Prepares all statements of the table; returns whether an [`Event::Prepared`] will follow. In
    /// the other query modes, and if no statement is to be prepared, there is nothing to do.
    pub fn prepare_all(&mut self, out: &mut Vec<u8>) -> bool {
        self.config.query_mode == QueryMode::Prepared
            && self.exchange.prepare_all(&self.statements, out)
    }

    /// Encodes a request. An [`Event::Reply`] will follow.
    #[inline]
    pub fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        self.exchange.request(request, self.config.query_mode, &self.statements, out);
    }

    /// Starts to load rows with `sql`, a `COPY … FROM STDIN (FORMAT binary)`. A
    /// [`Event::CopyInReady`] follows, or a reply with the error.
    pub fn copy_begin(&mut self, statement: StatementId, sql: &str, out: &mut Vec<u8>) {
        self.exchange.text(statement, Purpose::CopyIn, sql, Keep::None, out);
    }

    /// All rows have been sent.
    pub fn copy_done(&mut self, out: &mut Vec<u8>) {
        encode::copy_done(out);
    }

    /// What the server has reported about the session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The message that cancels what this session is executing; it is sent on a connection of its
    /// own, as the only message there.
    pub fn cancel_request(&self, out: &mut Vec<u8>) {
        encode::cancel(self.session.process_id, self.session.cancel_key(), out);
    }

    /// The message that ends the session.
    pub fn terminate(&mut self, out: &mut Vec<u8>) {
        encode::terminate(out);
        self.phase = Phase::Closed;
    }
}
