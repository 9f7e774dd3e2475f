//! The events of a connection.

use crate::postgres::Diagnostic;
use dbdyno_model::{Flow, Reply, ServerError, StatementId};

/// A statement that could not be prepared before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrepareFailure {
    /// The statement.
    pub statement: StatementId,
    /// The server's error.
    pub error: ServerError,
}

/// An event of a connection.
#[derive(Debug)]
pub enum Event<'a, S> {
    /// The request for encryption, the last unencrypted message, has been written: the owner sends
    /// it, performs the TLS handshake, and says that the channel is encrypted. (PostgreSQL's owner
    /// encrypts before the session starts.)
    StartTls,
    /// Logged in: requests may be sent.
    Ready(&'a S),
    /// The server, or a pooler in front of it, does not accept the requested protocol version. Open
    /// a new connection and start at the oldest one. (Some just close the connection before sending
    /// anything: the owner sees that and may do the same.)
    VersionRefused(ServerError),
    /// Every statement has been prepared or has failed; those that failed are prepared again by
    /// their next use.
    Prepared {
        /// Which could not be prepared, and why.
        failures: &'a [PrepareFailure],
    },
    /// The answer to a request is complete. An error is reported once, with the request that
    /// failed.
    Reply {
        /// The statement of the request.
        statement: StatementId,
        /// Whether the script waits for it.
        flow: Flow,
        /// The answer. For a queued request of PostgreSQL, `in_transaction` is as of the last
        /// synchronization point.
        reply: Reply<'a>,
    },
    /// Rows may be sent now, until `rows_done`; then a `Reply` follows.
    RowsWanted,
    /// A notice of the server; only PostgreSQL's protocol has them.
    Notice(Diagnostic),
    /// The connection cannot be used any more: the server ends it, or the login failed.
    Fatal(ServerError),
}

/// An event without the data it borrows.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// [`Event::StartTls`]
    StartTls,
    /// [`Event::Ready`]
    Ready,
    /// [`Event::VersionRefused`]
    VersionRefused(ServerError),
    /// [`Event::Prepared`]
    Prepared,
    /// [`Event::Reply`]
    Reply,
    /// [`Event::RowsWanted`]
    RowsWanted,
    /// [`Event::Notice`]
    Notice(Diagnostic),
    /// [`Event::Fatal`]
    Fatal(ServerError),
}
