//! What one thread's clients were doing at one instant.
//!
//! Nothing is measured here: it lets an observer of the server know which of its sessions was
//! serving which statement at that instant.

use dbdyno_model::{Nanos, StatementId};

/// What a client was doing: a code, or the statement it was waiting for. Sent as a 16-bit number;
/// the codes are documented in `python/dbdyno/model/telemetry.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doing(pub u16);

impl Doing {
    /// It has no usable connection.
    pub const UNCONNECTED: Self = Self(0xFFFF);
    /// Between two transactions.
    pub const IDLE: Self = Self(0xFFFE);
    /// In a transaction, without an outstanding request.
    pub const PAUSING: Self = Self(0xFFFD);
    /// Waiting for an answer to something that has no statement number.
    pub const UNLISTED: Self = Self(0xFFFC);

    /// It waits for the answer to a statement; `UNLISTED` where the statement's number would
    /// collide with the codes.
    pub fn awaiting(statement: StatementId) -> Self {
        u16::try_from(statement.0).map_or(Self::UNLISTED, |id| Self(id.min(Self::UNLISTED.0)))
    }
}

/// What one thread's clients were doing at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The instant.
    pub at: Nanos,
    /// For each of the thread's clients: its number over the whole run, what it was doing, and the
    /// server's process at the other end of its connection, or 0.
    pub clients: Vec<(u64, Doing, u32)>,
}
