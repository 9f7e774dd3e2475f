//! What a connection tells its owner.

use super::session::Session;
pub use crate::prepare_failure::PrepareFailure;
use dbdyno_model::{Flow, Reply, ServerError, StatementId};

/// Something happened on a connection.
#[derive(Debug)]
pub enum Event<'a> {
    /// The request for encryption is written, and the last in the clear: the owner sends it,
    /// makes the TLS handshake, and calls [`encrypted`](super::Connection::encrypted).
    StartTls,
    /// Logged in: requests may be sent.
    Ready(&'a Session),
    /// All statements have been tried; those that failed are prepared again by their next use.
    Prepared {
        /// Which could not be prepared, and why.
        failures: &'a [PrepareFailure],
    },
    /// A request has its whole answer.
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
    /// The connection is of no further use: the server ends it, or we could not log in.
    Fatal(ServerError),
}

/// An event before it borrows what it speaks of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    StartTls,
    Ready,
    Prepared,
    Reply,
    InfileReady,
    Fatal(ServerError),
}
