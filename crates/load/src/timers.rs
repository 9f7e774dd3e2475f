//! The alarms of clients.

use dbdyno_model::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The alarms of clients. An alarm that is no longer wanted is not removed: its generation then
/// differs from the client's, and it is ignored.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, usize, u32)>>,
}

impl Timers {
    pub(crate) fn set(&mut self, at: Nanos, client: usize, generation: u32) {
        self.heap.push(Reverse((at, client, generation)));
    }

    /// When the first one is due.
    pub(crate) fn next(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::MAX, |Reverse((at, _, _))| *at)
    }

    /// Removes an alarm that is due: (when, client, generation).
    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<(Nanos, usize, u32)> {
        (self.next() <= now).then(|| self.heap.pop()).flatten().map(|Reverse(alarm)| alarm)
    }
}
