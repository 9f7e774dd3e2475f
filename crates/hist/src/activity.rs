//! What clients were doing at one instant, as one thread's clients tell it.
//!
//! No latency is measured here: this is what lets an observer of the server say which of its
//! sessions served which statement just then.

use dbdyno_model::{Nanos, StatementId};

/// What a client was doing: a word, or the statement it awaits. Travels as a number of 16 bits;
/// its meanings stand in `python/dbdyno/model/telemetry.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doing(pub u16);

impl Doing {
    /// It has no connection that can be used.
    pub const UNCONNECTED: Self = Self(0xFFFF);
    /// Between two transactions.
    pub const IDLE: Self = Self(0xFFFE);
    /// Within a transaction, and the server was asked for nothing.
    pub const PAUSING: Self = Self(0xFFFD);
    /// It awaits an answer to something that has no number.
    pub const UNLISTED: Self = Self(0xFFFC);

    /// It awaits the answer to a statement; the table of one longer than the words leave
    /// room for has no numbers for the rest.
    pub fn awaiting(statement: StatementId) -> Self {
        u16::try_from(statement.0).map_or(Self::UNLISTED, |id| Self(id.min(Self::UNLISTED.0)))
    }
}

/// What one thread's clients were doing at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The instant.
    pub at: Nanos,
    /// Of each of the thread's clients: its number over the whole run, what it was doing, and the
    /// server's process at the other end of its connection, or 0.
    pub clients: Vec<(u64, Doing, u32)>,
}
