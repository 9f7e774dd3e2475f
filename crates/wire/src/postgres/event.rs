//! What a connection tells its owner.

use super::diagnostic::Diagnostic;
use super::session::Session;
pub use crate::prepare_failure::PrepareFailure;
use dbdyno_model::{Flow, Reply, ServerError, StatementId};

/// The code of the error of a request that the server skipped, because an earlier one of the
/// same pipeline had failed.
pub const SKIPPED: &str = "skipped";

/// Something happened on a connection.
#[derive(Debug)]
pub enum Event<'a> {
    /// Logged in: requests may be sent.
    Ready(&'a Session),
    /// The server, or a pooler before it, does not take the version of the protocol that was
    /// asked for. Open a new connection and start at version 3.0. (Some just close the
    /// connection before a word is said: the owner sees that and may do the same.)
    VersionRefused(ServerError),
    /// All statements have been tried; those that failed are prepared again by their next use.
    Prepared {
        /// Which could not be prepared, and why.
        failures: &'a [PrepareFailure],
    },
    /// A request has its whole answer. An error is told once, with the request that it struck.
    Reply {
        /// The statement of the request.
        statement: StatementId,
        /// Whether the script waits for it.
        flow: Flow,
        /// The answer. For a queued request, `in_transaction` is as of the last
        /// synchronisation point.
        reply: Reply<'a>,
    },
    /// Rows may be sent now, until `copy_done`; then a `Reply` follows.
    CopyInReady,
    /// The server has something to say.
    Notice(Diagnostic),
    /// The connection is of no further use: the server ends it, or we could not log in.
    Fatal(ServerError),
}

/// An event before it borrows what it speaks of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Ready,
    VersionRefused(ServerError),
    Prepared,
    Reply,
    CopyInReady,
    Notice(Diagnostic),
    Fatal(ServerError),
}
