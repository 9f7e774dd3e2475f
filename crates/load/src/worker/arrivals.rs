//! Arrivals: which transactions the schedule makes due, and which client takes each.
//!
//! An arrival waits for a client and is neither dropped nor postponed; only one that is older than
//! the latency limit is skipped, and counted as such. Waiting arrivals are kept as a range of the
//! schedule and drawn again when their turn comes, so a backlog of hours takes no memory.

use super::{Port, Worker};
use crate::client::State;
use crate::{Schedule, Timeline};
use dbdyno_model::{Nanos, Plan};
use dbdyno_script::Resume;

/// Stands for the client in the random streams of open-loop arrivals, which belong to no client.
pub(super) const NO_CLIENT: u64 = u64::MAX;

/// The schedule's arrivals assigned to this worker.
pub(super) struct Pending {
    schedule: Schedule,
    /// The schedule's next arrival for this worker, not due yet when last checked.
    upcoming: Option<(u64, Nanos)>,
    /// Number of the first arrival after the warm-up, once it was drawn.
    first_measured: Option<u64>,
    /// A second copy of the schedule, positioned at the oldest waiting arrival.
    backlog: Schedule,
    /// Arrivals that are due and not begun.
    waiting: u64,
}

impl Pending {
    pub(super) fn new(schedule: Schedule) -> Self {
        let backlog = schedule.clone();
        Self { schedule, upcoming: None, first_measured: None, backlog, waiting: 0 }
    }
}

/// Whether an arrival is assigned to a thread: arrival `k` goes to the thread of client `k mod
/// active clients`.
fn falls_to(thread: u32, (number, due): (u64, Nanos), timeline: &Timeline, plan: &Plan) -> bool {
    let active = u64::from(timeline.active_clients(due, plan.clients)).max(1);
    number % active % u64::from(plan.threads) == u64::from(thread)
}

impl Worker {
    pub(super) fn count_due(&mut self, due: Nanos) {
        self.tally.counters.due += u64::from(self.is_measured(due));
    }

    /// Assigns due arrivals to idle clients.
    pub(super) fn dispatch<P: Port>(&mut self, now: Nanos, port: &mut P) {
        if self.pending.is_none() || self.is_winding_down() {
            return;
        }
        self.take_arrivals(now);
        while let Some(&client) = self.idle.front() {
            let Some((number, due)) = self.next_waiting(now) else { break };
            self.idle.pop_front();
            if let State::Idle(since) = self.clients[client].state {
                self.tally.lateness.record(now - due.max(since));
            }
            if self.begin(now, client, number, due, port) {
                self.run(now, client, Resume::Continue, port);
            }
        }
        self.finish_if_exhausted(now, port);
    }

    /// A run with a fixed number of transactions is over when the last arrival has been served.
    fn finish_if_exhausted<P: Port>(&mut self, now: Nanos, port: &mut P) {
        let exhausted = self.plan.transactions_per_client.is_some() && !self.has_arrivals_left();
        while exhausted && let Some(client) = self.idle.pop_front() {
            self.tear_down(now, client, port);
        }
    }

    /// Whether an arrival waits, or becomes due later.
    pub(super) fn has_arrivals_left(&self) -> bool {
        let is_left = |pending: &Pending| pending.upcoming.is_some() || pending.waiting > 0;
        self.pending.as_ref().is_some_and(is_left)
    }

    /// The oldest waiting arrival that is still within the latency limit; older ones are skipped.
    fn next_waiting(&mut self, now: Nanos) -> Option<(u64, Nanos)> {
        loop {
            let (number, due) = self.take_oldest()?;
            let measured = self.is_measured(due);
            self.tally.counters.waiting -= u64::from(measured);
            let too_late = self.plan.latency_limit_ns.is_some_and(|limit| now - due > limit);
            if !too_late {
                return Some((number, due));
            }
            self.tally.counters.skipped += u64::from(measured);
            let script = self.choose_script(NO_CLIENT, number);
            self.tally.scripts[script].skipped += u64::from(measured);
        }
    }

    fn take_oldest(&mut self) -> Option<(u64, Nanos)> {
        let (timeline, pending) = (self.timeline.as_ref()?, self.pending.as_mut()?);
        pending.waiting = pending.waiting.checked_sub(1)?;
        let (thread, plan) = (self.thread, &self.plan);
        pending.backlog.find(|&arrival| falls_to(thread, arrival, timeline, plan))
    }

    /// Moves the arrivals that are due by now from the schedule to the backlog.
    pub(super) fn take_arrivals(&mut self, now: Nanos) {
        while let Some(Pending { upcoming: Some((_, due)), .. }) = self.pending
            && due <= now
        {
            let measured = self.is_measured(due);
            self.tally.counters.due += u64::from(measured);
            self.tally.counters.waiting += u64::from(measured);
            if let Some(pending) = &mut self.pending {
                pending.waiting += 1;
            }
            self.draw_upcoming();
        }
    }

    /// When the next arrival is due, if a client is idle and may take it.
    pub(super) fn next_arrival(&self) -> Nanos {
        match &self.pending {
            Some(pending) if !self.idle.is_empty() && !self.is_winding_down() => {
                pending.upcoming.map_or(Nanos::MAX, |(_, due)| due)
            }
            _ => Nanos::MAX,
        }
    }

    /// Advances the schedule to the next arrival assigned to this worker.
    pub(super) fn draw_upcoming(&mut self) {
        let (Some(timeline), Some(pending)) = (&self.timeline, &mut self.pending) else { return };
        let (plan, thread) = (&self.plan, self.thread);
        let share = plan.transactions_per_client.map(|each| each * u64::from(plan.clients));
        let Pending { schedule, first_measured, .. } = pending;
        pending.upcoming = schedule
            .inspect(|&(number, due)| {
                if due >= timeline.measure_begin() {
                    first_measured.get_or_insert(number);
                }
            })
            .find(|&arrival| falls_to(thread, arrival, timeline, plan))
            .filter(|&(number, _)| match (share, *first_measured) {
                (Some(share), Some(first)) => number - first < share,
                _ => true,
            });
    }
}
