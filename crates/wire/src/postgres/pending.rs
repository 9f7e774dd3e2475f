//! The state of a request until its answer is complete.

use super::prepared::Slot;
use super::stage::Stage;
use dbdyno_model::{Flow, Keep, StatementId};

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A script's statement.
    Statement,
    /// A synchronization point of a pipeline.
    Sync,
    /// Preparing before the run.
    Preparation,
    /// Preparing for a script.
    Prepare,
    /// COPY of rows that the caller sends.
    CopyIn,
    /// COPY of rows that the server sends.
    CopyOut,
}

/// A request that has been sent and whose answer is not complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) statement: StatementId,
    /// The prepared statement that it creates or uses.
    pub(super) slot: Option<Slot>,
    pub(super) purpose: Purpose,
    pub(super) keep: Keep,
    pub(super) flow: Flow,
    /// The first stage of its answer.
    pub(super) first: Stage,
    /// Whether it creates its prepared statement.
    pub(super) prepares: bool,
}

impl Pending {
    /// Whether it does more than prepare.
    #[inline]
    pub(super) fn executes(&self) -> bool {
        !matches!(self.purpose, Purpose::Preparation | Purpose::Prepare)
    }

    /// Whether its answer ends with `ReadyForQuery`.
    #[inline]
    pub(super) fn ends_synchronized(&self) -> bool {
        self.flow == Flow::Wait || self.purpose == Purpose::Sync
    }
}
