//! The events of a connection.

use super::diagnostic::Diagnostic;
use super::session::Session;
pub use crate::prepare_failure::PrepareFailure;
use dbdyno_model::{Flow, Reply, ServerError, StatementId};

/// The error code of a request that the server skipped, because an earlier one of the same pipeline
/// had failed.
pub const SKIPPED: &str = "skipped";

/// An event of a connection.
#[derive(Debug)]
pub enum Event<'a> {
    /// Logged in: requests may be sent.
    Ready(&'a Session),
    /// The server, or a pooler in front of it, does not accept the requested protocol version. Open
    /// a new connection and start at version 3.0. (Some just close the connection before sending
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
        /// The answer. For a queued request, `in_transaction` is as of the last synchronization
        /// point.
        reply: Reply<'a>,
    },
    /// Rows may be sent now, until `copy_done`; then a `Reply` follows.
    CopyInReady,
    /// A notice of the server.
    Notice(Diagnostic),
    /// The connection cannot be used any more: the server ends it, or the login failed.
    Fatal(ServerError),
}

/// An event without the data it borrows.
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
