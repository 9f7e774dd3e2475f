//! One connection, of whichever protocol: bytes in, events out.
//!
//! The owner moves the bytes. It receives into `receive_space` (or passes bytes to `feed`), calls
//! `poll` until that returns nothing more, and sends whatever was appended to `out`. Requests may
//! be made from `Ready` on, also while earlier ones are outstanding.

use crate::event::{Event, Outcome, PrepareFailure};
use crate::{ProtocolError, ReceiveBuffer};
use dbdyno_model::{Flow, Reply, Request, ResultSet, Statement, StatementId};
use std::fmt::Debug;
use std::sync::Arc;

/// How to cancel what a session is executing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancellation {
    /// By this message, on a connection of its own.
    Message(Vec<u8>),
    /// By this statement, in any session of the same user.
    Statement(String),
}

/// What a wire protocol is: how a session begins, how requests are written, and what the received
/// messages mean. All that a [`Connection`] needs to be one of this protocol.
pub trait Protocol: Debug {
    /// The login data and the query mode, the same for all connections of a run.
    type Config;
    /// The parameters of one connection.
    type Opening;
    /// What the server reports about a session.
    type SessionFacts: Debug + Default;

    /// Without a session.
    fn new(config: Arc<Self::Config>, statements: Arc<[Statement]>) -> Self;

    /// A new session begins: the state of an earlier one is discarded.
    fn start(&mut self, opening: Self::Opening, out: &mut Vec<u8>);

    /// Processes the received messages up to the next outcome.
    fn poll(
        &mut self,
        buffer: &mut ReceiveBuffer,
        session: &mut Self::SessionFacts,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError>;

    /// The answer that [`Outcome::Reply`] refers to.
    fn reply(&self) -> (StatementId, Flow, Reply<'_>);

    /// Gives away the results of this answer.
    fn take_results(&mut self) -> Vec<ResultSet>;

    /// The failures that [`Outcome::Prepared`] refers to.
    fn prepare_failures(&self) -> &[PrepareFailure];

    /// Prepares all statements of the table; false if there is nothing to do.
    fn prepare_all(&mut self, out: &mut Vec<u8>) -> bool;

    /// Encodes a request.
    fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>);

    /// Starts to load rows with the protocol's statement for that.
    fn rows_begin(&mut self, statement: StatementId, sql: &str, out: &mut Vec<u8>);

    /// Encodes rows, which are in the form that this statement wants.
    fn rows(&mut self, rows: &[u8], out: &mut Vec<u8>);

    /// All rows have been sent.
    fn rows_done(&mut self, out: &mut Vec<u8>);

    /// The message that ends a session.
    fn terminate(out: &mut Vec<u8>);

    /// How to cancel what a session is executing.
    fn cancellation(session: &Self::SessionFacts) -> Cancellation;

    /// The server's process or thread that serves a session.
    fn backend(session: &Self::SessionFacts) -> u32;

    /// The server's version, as it reports it.
    fn server_version(session: &Self::SessionFacts) -> &str;

    /// Its turn comes soon: prefetches what it points to and a request is sure to need.
    fn prefetch(&self) {}

    /// Whether a version that not every server knows was asked for, and nothing has been answered.
    fn awaits_version(&self) -> bool {
        false
    }
}

/// A connection to a server, without the socket.
#[derive(Debug)]
pub struct Connection<P: Protocol> {
    buffer: ReceiveBuffer,
    /// Between the start and the end of a session; otherwise received bytes are ignored.
    is_open: bool,
    session: P::SessionFacts,
    pub(crate) protocol: P,
}

impl<P: Protocol> Connection<P> {
    /// A connection that has not been started.
    pub fn new(config: Arc<P::Config>, statements: Arc<[Statement]>) -> Self {
        Self {
            buffer: ReceiveBuffer::default(),
            is_open: false,
            session: P::SessionFacts::default(),
            protocol: P::new(config, statements),
        }
    }

    /// Starts a session over a new transport. The state of an earlier session is discarded.
    pub fn start(&mut self, opening: P::Opening, out: &mut Vec<u8>) {
        self.buffer.clear();
        self.session = P::SessionFacts::default();
        self.protocol.start(opening, out);
        self.is_open = true;
    }

    /// Receives into memory that connections share, until [`Connection::return_memory`]: for an
    /// owner that receives from one of many at a time.
    #[inline]
    pub fn borrow_memory(&mut self, lender: &mut ReceiveBuffer) {
        self.buffer.borrow_memory(lender);
    }

    /// Returns shared memory, unless part of a message waits in it.
    #[inline]
    pub fn return_memory(&mut self, lender: &mut ReceiveBuffer) {
        self.buffer.return_memory(lender);
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
    pub fn poll(
        &mut self,
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'_, P::SessionFacts>>, ProtocolError> {
        if !self.is_open {
            return Ok(None);
        }
        match self.protocol.poll(&mut self.buffer, &mut self.session, out) {
            Ok(None) => Ok(None),
            Ok(Some(outcome)) => Ok(Some(self.event(outcome))),
            Err(error) => {
                self.is_open = false;
                Err(error)
            }
        }
    }

    #[inline]
    fn event(&mut self, outcome: Outcome) -> Event<'_, P::SessionFacts> {
        match outcome {
            Outcome::Reply => {
                let (statement, flow, reply) = self.protocol.reply();
                Event::Reply { statement, flow, reply }
            }
            Outcome::StartTls => Event::StartTls,
            Outcome::Ready => Event::Ready(&self.session),
            Outcome::Prepared => Event::Prepared { failures: self.protocol.prepare_failures() },
            Outcome::RowsWanted => Event::RowsWanted,
            Outcome::Notice(notice) => Event::Notice(notice),
            Outcome::VersionRefused(error) => {
                self.is_open = false;
                Event::VersionRefused(error)
            }
            Outcome::Fatal(error) => {
                self.is_open = false;
                Event::Fatal(error)
            }
        }
    }

    /// The results of the reply that `poll` has just returned, for an owner that keeps them.
    #[inline]
    pub fn take_results(&mut self) -> Vec<ResultSet> {
        self.protocol.take_results()
    }

    /// Prepares all statements of the table; returns whether an [`Event::Prepared`] will follow. In
    /// the other query modes, and if no statement is to be prepared, there is nothing to do.
    pub fn prepare_all(&mut self, out: &mut Vec<u8>) -> bool {
        self.protocol.prepare_all(out)
    }

    /// Encodes a request. An [`Event::Reply`] will follow.
    #[inline]
    pub fn request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        self.protocol.request(request, out);
    }

    /// Its turn comes soon: prefetches what the next request is sure to need.
    #[inline]
    pub fn prefetch(&self) {
        self.protocol.prefetch();
    }

    /// Starts to load rows with `sql`: for PostgreSQL a `COPY … FROM STDIN (FORMAT binary)`, for
    /// MySQL a `LOAD DATA LOCAL INFILE …` with any file name. An [`Event::RowsWanted`] follows, or
    /// a reply with the error.
    pub fn rows_begin(&mut self, statement: StatementId, sql: &str, out: &mut Vec<u8>) {
        self.protocol.rows_begin(statement, sql, out);
    }

    /// Rows: for PostgreSQL blocks of the COPY, for MySQL the contents of the file.
    pub fn rows(&mut self, rows: &[u8], out: &mut Vec<u8>) {
        self.protocol.rows(rows, out);
    }

    /// All rows have been sent.
    pub fn rows_done(&mut self, out: &mut Vec<u8>) {
        self.protocol.rows_done(out);
    }

    /// What the server has reported about the session.
    pub fn session(&self) -> &P::SessionFacts {
        &self.session
    }

    /// How to cancel what this session is executing.
    pub fn cancellation(&self) -> Cancellation {
        P::cancellation(&self.session)
    }

    /// The server's process or thread that serves this session.
    pub fn backend(&self) -> u32 {
        P::backend(&self.session)
    }

    /// The server's version, as it reports it.
    pub fn server_version(&self) -> &str {
        P::server_version(&self.session)
    }

    /// Whether a version that not every server knows was asked for, and nothing has been answered.
    pub fn awaits_version(&self) -> bool {
        self.is_open && self.protocol.awaits_version()
    }

    /// The message that ends the session.
    pub fn terminate(&mut self, out: &mut Vec<u8>) {
        P::terminate(out);
        self.is_open = false;
    }
}
