//! Samples what the clients are doing, at instants that all workers of a run share.
//!
//! Samples are given out once a second, all together: on a busy machine each message to another
//! thread or process costs it a processor for a moment.

use super::Worker;
use crate::client::{Client, Connection, State};
use dbdyno_hist::{Activity, Doing};
use dbdyno_model::{ConnectionId, Nanos};

/// How much time the samples that are given out together cover, and how far back an instant may lie
/// that is sampled late.
const BATCH: Nanos = Nanos::from_secs(1);

/// Evenly spaced instants, each of which is sampled once.
#[derive(Debug)]
pub(super) struct SampleTimes {
    interval: Nanos,
    /// The next instant.
    next: Nanos,
}

impl SampleTimes {
    /// The first one is one `interval` after `start`.
    pub(super) fn new(start: Nanos, interval: Nanos) -> Self {
        Self { interval, next: start + interval }
    }

    /// The instants up to `now` that were not sampled yet; after a long standstill only the newest.
    fn passed(&mut self, now: Nanos) -> impl Iterator<Item = Nanos> + use<> {
        let (next, interval) = (self.next, self.interval);
        let count = if next <= now { (now - next).0 / interval.0 + 1 } else { 0 };
        self.next = next + interval * count;
        let newest = (BATCH.0 / interval.0).max(1);
        (count.saturating_sub(newest)..count).map(move |number| next + interval * number)
    }
}

impl Worker {
    /// When the next sample is due.
    pub(super) fn next_sample(&self) -> Nanos {
        self.sample_times.as_ref().map_or(Nanos::MAX, |sample_times| sample_times.next)
    }

    /// Samples the clients, if it is due, before any event of this moment changes them: nothing has
    /// changed them since the instants that have passed, however late it is.
    pub(super) fn sample_clients(&mut self, now: Nanos) {
        let Some(sample_times) = &mut self.sample_times else { return };
        for at in sample_times.passed(now) {
            let clients = self.clients.iter().map(Client::activity).collect();
            self.activities.push(Activity { at, clients });
        }
    }

    /// The samples of the last second, once it is over or the worker is; until then none.
    pub fn take_activities(&mut self) -> Vec<Activity> {
        let covered = match (self.activities.first(), self.activities.last()) {
            (Some(first), Some(last)) => last.at - first.at,
            _ => return Vec::new(),
        };
        if covered >= BATCH || self.is_over() {
            return std::mem::take(&mut self.activities);
        }
        Vec::new()
    }
}

impl Client {
    /// Its number, what it is doing, and the server's process that serves it.
    fn activity(&self) -> (u64, Doing, u32) {
        let doing = match self.state {
            State::Unconnected | State::Connecting(_) | State::Finished => Doing::UNCONNECTED,
            State::Idle(_) | State::Thinking | State::Yielding | State::Moving => Doing::IDLE,
            State::Sleeping | State::InShell => Doing::PAUSING,
            State::RollingBack { .. } | State::Cancelling => Doing::UNLISTED,
            State::AwaitingReply => self
                .outstanding
                .front()
                .map_or(Doing::UNLISTED, |asked| Doing::awaiting(asked.statement)),
        };
        // Telemetry observes the first server.
        let observed = |(number, connection): &(ConnectionId, &Connection)| {
            *number == self.using && connection.is_open && connection.server == 0
        };
        (self.id, doing, self.connections().find(observed).map_or(0, |(_, found)| found.backend))
    }
}

#[cfg(test)]
mod tests {
    use super::SampleTimes;
    use dbdyno_model::Nanos;

    #[test]
    fn each_instant_is_due_once_however_late() {
        let mut sample_times = SampleTimes::new(Nanos::from_millis(1000), Nanos::from_millis(100));
        let due = [1050, 1099, 1100, 1100, 1150, 1260, 1299, 1530, 1599, 1600].map(|now| {
            let passed = sample_times.passed(Nanos::from_millis(now));
            passed.map(|at| at.0 / 1_000_000).collect::<Vec<_>>()
        });
        let none = Vec::new;
        let expected: [Vec<u64>; 10] = [
            none(),
            none(),
            vec![1100],
            none(),
            none(),
            vec![1200],
            none(),
            vec![1300, 1400, 1500],
            none(),
            vec![1600],
        ];
        assert_eq!(due, expected);
    }

    #[test]
    fn of_a_standstill_only_the_last_second_is_sampled() {
        let mut sample_times = SampleTimes::new(Nanos::ZERO, Nanos::from_millis(500));
        let passed = sample_times.passed(Nanos::from_millis(60_200));
        assert_eq!(passed.map(|at| at.0 / 1_000_000).collect::<Vec<_>>(), [59_500, 60_000]);
        assert_eq!(sample_times.next, Nanos::from_millis(60_500));
    }
}
