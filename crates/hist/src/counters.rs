//! Counts of transactions, and their identities.

use dbdyno_model::{CopyDirection, Reply};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Counts of transactions that became due since the end of the warm-up, cumulative.
///
/// ```text
/// due     = started + skipped + waiting
/// started = ok + failed + in_flight + unfinished
/// ok      = committed + rolled_back + aborted + left_open
/// ```
///
/// In addition: `failed = Σ by class` and `count(response) = ok`, whose totals are passed to
/// [`Counters::check`]. Checked whenever an interval closes, and again when a frame is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Became due: by the schedule in an open loop, by being started in a closed one.
    pub due: u64,
    /// Were begun.
    pub started: u64,
    /// Were never begun because they were already later than the latency limit.
    pub skipped: u64,
    /// Are due and not begun.
    pub waiting: u64,
    /// Ran to the script's end without an error.
    pub ok: u64,
    /// Those of `ok` whose last transaction block was committed, or that had none.
    pub committed: u64,
    /// Those of `ok` whose last block the script rolled back.
    pub rolled_back: u64,
    /// Those of `ok` whose last block the server rolled back, although it was to be committed.
    pub aborted: u64,
    /// Those of `ok` that ended within a block.
    pub left_open: u64,
    /// Failed without a (further) retry.
    pub failed: u64,
    /// Are in flight.
    pub in_flight: u64,
    /// Were cut off when the grace period after the run's end was over.
    pub unfinished: u64,
    /// Were tried more than once, however they ended.
    pub retried: u64,
    /// Tries beyond the first.
    pub retries: u64,
    /// Succeeded, but took longer than the latency limit.
    pub late: u64,
}

/// Rows that COPY moved between the server and its clients, and their bytes as sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    /// Rows to the server.
    pub copy_in_rows: u64,
    /// Bytes to the server.
    pub copy_in_bytes: u64,
    /// Rows from the server.
    pub copy_out_rows: u64,
    /// Bytes from the server.
    pub copy_out_bytes: u64,
}

impl Copied {
    /// Adds what a COPY has moved, by its reply.
    pub fn add(&mut self, direction: CopyDirection, reply: &Reply<'_>) {
        let (rows, bytes) = match direction {
            CopyDirection::In => (&mut self.copy_in_rows, &mut self.copy_in_bytes),
            CopyDirection::Out => (&mut self.copy_out_rows, &mut self.copy_out_bytes),
        };
        *rows += reply.rows_affected;
        *bytes += reply.copied_bytes;
    }
}

impl AddAssign for Copied {
    fn add_assign(&mut self, other: Self) {
        self.copy_in_rows += other.copy_in_rows;
        self.copy_in_bytes += other.copy_in_bytes;
        self.copy_out_rows += other.copy_out_rows;
        self.copy_out_bytes += other.copy_out_bytes;
    }
}

impl Counters {
    /// Checks the identities, with the totals counted elsewhere: failures summed over classes, and
    /// the number of recorded response times.
    pub fn check(&self, failed_by_class: u64, responses: u64) -> Result<(), String> {
        let begun = self.ok + self.failed + self.in_flight + self.unfinished;
        for (name, left, right) in [
            (
                "due = started + skipped + waiting",
                self.due,
                self.started + self.skipped + self.waiting,
            ),
            ("started = ok + failed + in_flight + unfinished", self.started, begun),
            (
                "ok = committed + rolled_back + aborted + left_open",
                self.ok,
                self.committed + self.rolled_back + self.aborted + self.left_open,
            ),
            ("failed = sum by class", self.failed, failed_by_class),
            ("count(response) = ok", responses, self.ok),
        ] {
            if left != right {
                return Err(format!("{name} does not hold: {left} against {right} in {self:?}"));
            }
        }
        Ok(())
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.due += other.due;
        self.started += other.started;
        self.skipped += other.skipped;
        self.waiting += other.waiting;
        self.ok += other.ok;
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.aborted += other.aborted;
        self.left_open += other.left_open;
        self.failed += other.failed;
        self.in_flight += other.in_flight;
        self.unfinished += other.unfinished;
        self.retried += other.retried;
        self.retries += other.retries;
        self.late += other.late;
    }
}

/// The resources that the engine process used in an interval.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct EngineUse {
    /// User + system time.
    pub cpu_us: u64,
    /// Times it gave up the processor voluntarily, to wait.
    pub voluntary_switches: u64,
    /// Times it was preempted.
    pub involuntary_switches: u64,
}

/// The rows that executions of a statement touched: returned, changed or found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "(u64, u64)", from = "(u64, u64)")]
pub struct Rows {
    /// All rows.
    pub touched: u64,
    /// Executions that touched none.
    pub executions_without: u64,
}

impl Rows {
    /// Adds those of other executions. The numbers are the server's, which may lie.
    pub(crate) fn add(&mut self, other: Self) {
        self.touched = self.touched.saturating_add(other.touched);
        self.executions_without += other.executions_without;
    }
}

impl From<Rows> for (u64, u64) {
    fn from(rows: Rows) -> Self {
        (rows.touched, rows.executions_without)
    }
}

impl From<(u64, u64)> for Rows {
    fn from((touched, executions_without): (u64, u64)) -> Self {
        Self { touched, executions_without }
    }
}

#[cfg(test)]
mod tests {
    use super::Counters;

    #[test]
    fn each_identity_can_fail() {
        let good = Counters {
            due: 10,
            started: 8,
            skipped: 1,
            waiting: 1,
            ok: 5,
            committed: 2,
            rolled_back: 1,
            aborted: 1,
            left_open: 1,
            failed: 1,
            in_flight: 1,
            unfinished: 1,
            ..Counters::default()
        };
        assert_eq!(good.check(1, 5), Ok(()));
        assert!(Counters { due: 11, ..good }.check(1, 5).is_err());
        assert!(Counters { in_flight: 0, ..good }.check(1, 5).is_err());
        assert!(Counters { committed: 3, ..good }.check(1, 5).is_err());
        assert!(good.check(0, 5).is_err());
        assert!(good.check(1, 4).is_err());
    }
}
