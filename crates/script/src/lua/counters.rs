//! sysbench's own counts of statements, on which its reports and hooks are based.

use dbdyno_model::Reply;
use std::sync::atomic::{AtomicU64, Ordering};

/// What sysbench counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Statements that neither returned nor changed rows.
    Other,
    /// Statements that returned rows.
    Read,
    /// Statements that changed rows.
    Write,
    /// Transactions. Counted by the engine, not here.
    Transaction,
    /// Errors that restarted their event, and those that scripts count themselves.
    Error,
    /// Reconnects.
    Reconnect,
}

impl Counter {
    /// All, in the order of sysbench's numbers for them.
    pub(super) const ALL: [Self; 6] =
        [Self::Other, Self::Read, Self::Write, Self::Transaction, Self::Error, Self::Reconnect];
}

/// The counts of a run so far, over all its clients.
#[derive(Debug, Default)]
pub(super) struct Counters([AtomicU64; Counter::ALL.len()]);

impl Counters {
    /// A count.
    pub(super) fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize].load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, counter: Counter) {
        self.0[counter as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an answer without an error.
    pub(super) fn add_reply(&self, reply: &Reply<'_>) {
        let returns_rows = reply.results.iter().any(|result| !result.columns.is_empty());
        self.add(if reply.rows_returned > 0 || returns_rows {
            Counter::Read
        } else if reply.rows_affected > 0 {
            Counter::Write
        } else {
            Counter::Other
        });
    }
}
