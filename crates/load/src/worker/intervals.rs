//! Closes intervals.

use super::Worker;
use crate::Phase;
use crate::client::Client;
use dbdyno_hist::Tally;
use dbdyno_model::Nanos;

/// What one worker counted between two boundaries of the timeline.
#[derive(Debug)]
pub struct ClosedInterval {
    /// The phase of the run.
    pub phase: Phase,
    /// Its beginning.
    pub begin: Nanos,
    /// Its end.
    pub end: Nanos,
    /// What was counted.
    pub tally: Box<Tally>,
}

impl Worker {
    /// The intervals closed since the last call.
    pub fn take_closed(&mut self) -> Vec<ClosedInterval> {
        std::mem::take(&mut self.closed)
    }

    /// Returns a tally's memory for reuse.
    pub fn reuse_tally(&mut self, mut tally: Box<Tally>) {
        tally.clear();
        self.spare = Some(tally);
    }

    /// Closes the last interval; the worker is over and counts nothing more.
    pub fn close_last(&mut self, now: Nanos) {
        let end = now.max(self.interval_begin);
        self.close_interval(end);
    }

    pub(super) fn close_interval(&mut self, end: Nanos) {
        let Some(timeline) = &self.timeline else { return };
        let begin = self.interval_begin;
        let phase = timeline.phase(begin);
        // Part of a long answer counts, too; logins that fail do not, whatever they exchange.
        if self.tally.bytes_received > 0 && self.clients.iter().any(Client::is_connected) {
            self.last_heard = self.last_heard.max(end);
        }
        self.interval_begin = end;
        self.interval_end = timeline.interval_end(end);
        if self.ending.is_none() {
            // An arrival exactly on the boundary belongs to the next interval.
            self.take_arrivals(end - Nanos(1));
        }
        let mut next = *self.spare.take().unwrap_or_else(|| Box::new(Tally::new(self.shape)));
        next.counters = self.tally.counters;
        let tally = Box::new(std::mem::replace(&mut self.tally, next));
        self.closed.push(ClosedInterval { phase, begin, end, tally });
    }
}
