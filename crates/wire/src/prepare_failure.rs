//! A statement that could not be prepared before the run.

use dbdyno_model::{ServerError, StatementId};

/// A statement that could not be prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrepareFailure {
    /// The statement.
    pub statement: StatementId,
    /// The server's error.
    pub error: ServerError,
}
