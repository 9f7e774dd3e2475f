//! What is told of a statement that could not be prepared ahead of the run.

use dbdyno_model::{ServerError, StatementId};

/// A statement that could not be prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrepareFailure {
    /// Which.
    pub statement: StatementId,
    /// What the server said.
    pub error: ServerError,
}
