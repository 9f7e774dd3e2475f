//! Samples what the clients are doing, at instants that all workers of a run share.
//!
//! Samples are given out once a second, all together: on a busy machine each message to another
//! thread or process costs it a processor for a moment.

use crate::client::{Client, Connection};
use crate::state::State;
use dbdyno_hist::{Activity, Doing};
use dbdyno_model::{ConnectionId, Nanos};

/// How much time the samples that are given out together cover, and how far back an instant may lie
/// that is sampled late.
const BATCH: Nanos = Nanos::from_secs(1);

/// Evenly spaced instants, each of which is sampled once.
#[derive(Debug)]
struct SampleTimes {
    interval: Nanos,
    /// The next instant.
    next: Nanos,
}

impl SampleTimes {
    /// The first one is one `interval` after `start`.
    fn new(start: Nanos, interval: Nanos) -> Self {
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

/// Samples what the clients of a worker are doing, if the plan wants it.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    times: Option<SampleTimes>,
    /// Samples that have not been taken, in the order of time.
    samples: Vec<Activity>,
}

impl Sampler {
    /// The load begins at `start`.
    pub(crate) fn start(&mut self, start: Nanos, interval: Option<Nanos>) {
        self.times = interval.map(|interval| SampleTimes::new(start, interval));
    }

    /// When the next sample is due.
    pub(crate) fn next(&self) -> Nanos {
        self.times.as_ref().map_or(Nanos::MAX, |times| times.next)
    }

    /// Samples the clients, if it is due, before any event of this moment changes them: nothing has
    /// changed them since the instants that have passed, however late it is.
    pub(crate) fn sample(&mut self, now: Nanos, clients: &[Client]) {
        let Some(times) = &mut self.times else { return };
        for at in times.passed(now) {
            let clients = clients.iter().map(Client::activity).collect();
            self.samples.push(Activity { at, clients });
        }
    }

    /// The samples of the last second, once it is over or the worker is; until then none.
    pub(crate) fn take(&mut self, is_over: bool) -> Vec<Activity> {
        let covered = match (self.samples.first(), self.samples.last()) {
            (Some(first), Some(last)) => last.at - first.at,
            _ => return Vec::new(),
        };
        if covered >= BATCH || is_over { std::mem::take(&mut self.samples) } else { Vec::new() }
    }
}

impl Client {
    /// Its number, what it is doing, and the server's process that serves it.
    fn activity(&self) -> (u64, Doing, u32) {
        let doing = match self.state {
            State::Unconnected(_) | State::Connecting { .. } | State::Finished => {
                Doing::UNCONNECTED
            }
            State::Ready { .. }
            | State::Idle { .. }
            | State::Thinking
            | State::Yielding
            | State::Moving => Doing::IDLE,
            State::Running(_) | State::Sleeping(_) | State::InShell(_) => Doing::PAUSING,
            State::RollingBack { .. } | State::Cancelling => Doing::UNLISTED,
            State::AwaitingReply(_) => self
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
