//! What is remembered of a request until its answer is complete, and how far that is.

use super::command::Command;
use super::statements::Place;
use dbdyno_model::{Flow, Keep, StatementId};

/// How far the answer to the oldest request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing is outstanding.
    Idle,
    /// Sent: a command without rows is done, a result set begins, or a file is asked for.
    /// More results lead back to here.
    Sent,
    /// A result set begins: so many definitions of columns come, and what closes them.
    Columns { left: u64 },
    /// Rows, up to what closes them. They are counted; few are kept.
    Rows,
    /// A statement is to be prepared.
    Preparing,
    /// Prepared: so many definitions of parameters and columns come, and are of no interest.
    Definitions { left: u64 },
    /// The owner sends rows to load.
    Loading,
}

impl Stage {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Idle => "Idle",
            Self::Sent => "Sent",
            Self::Columns { .. } => "Columns",
            Self::Rows => "Rows",
            Self::Preparing => "Preparing",
            Self::Definitions { .. } => "Definitions",
            Self::Loading => "Loading",
        }
    }
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A script's statement.
    Statement,
    /// Preparing ahead of the run.
    Preparation,
    /// A statement that the session begins with.
    SessionCommand,
    /// Loading rows.
    Infile,
}

/// A request that has not been answered to the end.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) statement: StatementId,
    /// The prepared statement that it makes or uses.
    pub(super) place: Option<Place>,
    pub(super) purpose: Purpose,
    pub(super) keep: Keep,
    pub(super) flow: Flow,
    /// What is to be sent when its turn comes, or once more.
    pub(super) command: Option<Command<'static>>,
}
