//! Samples what the clients are doing, at instants that all workers of a run share.

use super::Worker;
use crate::client::{Client, State};
use dbdyno_hist::{Activity, Doing};
use dbdyno_model::Nanos;

/// Evenly spaced instants, each of which is sampled once or skipped.
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

    /// The latest instant up to `now`, unless it was sampled already. Earlier ones are skipped:
    /// what the clients are doing now says nothing about them.
    fn passed(&mut self, now: Nanos) -> Option<Nanos> {
        let late = (self.next <= now).then(|| (now - self.next).0 / self.interval.0)?;
        let latest = self.next + self.interval * late;
        self.next = latest + self.interval;
        Some(latest)
    }
}

impl Worker {
    /// When the next sample is due.
    pub(super) fn next_sample(&self) -> Nanos {
        self.sample_times.as_ref().map_or(Nanos::MAX, |sample_times| sample_times.next)
    }

    /// Samples the clients, if it is due, before any event of this moment changes them.
    pub(super) fn sample_clients(&mut self, now: Nanos) {
        if let Some(at) =
            self.sample_times.as_mut().and_then(|sample_times| sample_times.passed(now))
        {
            let clients = self.clients.iter().map(Client::activity).collect();
            self.activity = Some(Activity { at, clients });
        }
    }

    /// The last sample, once.
    pub fn take_activity(&mut self) -> Option<Activity> {
        self.activity.take()
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
                .map_or(Doing::UNLISTED, |(statement, _)| Doing::awaiting(*statement)),
        };
        (self.id, doing, if self.connected { self.backend } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::SampleTimes;
    use dbdyno_model::Nanos;

    #[test]
    fn each_instant_is_due_once_and_those_slept_through_never() {
        let mut sample_times = SampleTimes::new(Nanos(1000), Nanos(100));
        let due = [1050, 1099, 1100, 1100, 1150, 1260, 1299, 1730, 1799, 1800]
            .map(|now| sample_times.passed(Nanos(now)).map(|at| at.0));
        let (none, at) = (None, Some);
        assert_eq!(
            due,
            [none, none, at(1100), none, none, at(1200), none, at(1700), none, at(1800)]
        );
    }
}
