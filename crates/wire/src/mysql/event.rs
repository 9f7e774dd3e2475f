//! The events of a connection.

use super::session::Session;
pub use crate::prepare_failure::PrepareFailure;
use dbdyno_model::{Flow, Reply, ServerError, StatementId};

/// An event of a connection.
#[derive(Debug)]
pub enum Event<'a> {
    /// The request for encryption, the last unencrypted message, has been written: the owner sends
    /// it, performs the TLS handshake, and calls [`encrypted`](super::Connection::encrypted).
    StartTls,
    /// Logged in: requests may be sent.
    Ready(&'a Session),
    /// Every statement has been prepared or has failed; those that failed are prepared again by
    /// their next use.
    Prepared {
        /// Which could not be prepared, and why.
        failures: &'a [PrepareFailure],
    },
    /// The answer to a request is complete.
    Reply {
        /// The statement of the request.
        statement: StatementId,
        /// Whether the script waits for it.
        flow: Flow,
        /// The answer.
        reply: Reply<'a>,
    },
    /// Rows may be sent now, until `infile_done`; then a `Reply` follows.
    InfileReady,
    /// The connection cannot be used any more: the server ends it, or the login failed.
    Fatal(ServerError),
}

/// An event without the data it borrows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    StartTls,
    Ready,
    Prepared,
    Reply,
    InfileReady,
    Fatal(ServerError),
}
