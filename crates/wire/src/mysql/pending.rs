//! The state of a request until its answer is complete.

use super::command::Command;
use super::statements::Place;
use dbdyno_model::{Flow, Keep, StatementId};

/// How far the answer to the oldest request has been received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing is outstanding.
    Idle,
    /// Sent: an OK packet, a result set or a request for a file comes next. Further results lead
    /// back to here.
    Sent,
    /// A result set begins: this many column definitions follow, then the packet that ends them.
    Columns { left: u64 },
    /// Rows, up to the packet that ends them. They are counted; few are kept.
    Rows,
    /// A statement is being prepared.
    Preparing,
    /// Prepared: this many definitions of parameters and columns follow, which are ignored.
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

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A script's statement.
    Statement,
    /// Preparing before the run.
    Preparation,
    /// A statement that the session starts with.
    SessionCommand,
    /// Loading rows.
    Infile,
}

/// A request whose answer is not complete.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) statement: StatementId,
    /// The prepared statement that it creates or uses.
    pub(super) place: Option<Place>,
    pub(super) purpose: Purpose,
    pub(super) keep: Keep,
    pub(super) flow: Flow,
    /// What is to be sent when its turn comes, or sent again.
    pub(super) command: Option<Command<'static>>,
}
