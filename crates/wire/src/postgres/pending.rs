//! What is remembered of a request until its answer is complete.

use super::prepared::Slot;
use super::stage::Stage;
use dbdyno_model::{Flow, Keep, StatementId};

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A script's statement.
    Statement,
    /// A synchronisation point of a pipeline.
    Sync,
    /// Preparing ahead of the run.
    Preparation,
    /// Preparing what a script asks to prepare.
    Prepare,
    /// Loading rows.
    CopyIn,
}

/// A request that has been sent and not been answered to the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) statement: StatementId,
    /// The prepared statement that it makes or uses.
    pub(super) slot: Option<Slot>,
    pub(super) purpose: Purpose,
    pub(super) keep: Keep,
    pub(super) flow: Flow,
    /// Where its answer begins.
    pub(super) first: Stage,
    /// Whether it creates its prepared statement.
    pub(super) prepares: bool,
}

impl Pending {
    /// Whether more than a preparation was asked for.
    #[inline]
    pub(super) fn executes(&self) -> bool {
        !matches!(self.purpose, Purpose::Preparation | Purpose::Prepare)
    }

    /// Whether its answer ends with `ReadyForQuery`.
    #[inline]
    pub(super) fn ends_synchronised(&self) -> bool {
        self.flow == Flow::Wait || self.purpose == Purpose::Sync
    }
}
