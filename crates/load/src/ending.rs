//! The end of a run: nothing new is started; transactions in flight get a grace period, then are
//! cancelled, then are given up. A server that has stopped answering ends the run as well.

use dbdyno_hist::Latencies;
use dbdyno_model::Nanos;

/// The grace period is three times the 99th percentile, within these bounds.
pub(crate) const GRACE_SHORTEST: Nanos = Nanos::from_secs(1);
const GRACE_LONGEST: Nanos = Nanos::from_secs(30);
/// How long the server may take to answer a cancellation.
const CANCEL_WAIT: Nanos = Nanos::from_secs(5);
/// A wait that ends later than planned by more than this was delayed by a standstill, perhaps of
/// the whole machine.
const STANDSTILL_MIN: Nanos = Nanos::from_millis(100);

/// How far the end of a run has come.
#[derive(Debug, Default)]
pub(crate) enum Ending {
    /// The run goes on.
    #[default]
    NotBegun,
    /// Transactions in flight may end within this period.
    Grace(Wait),
    /// The server was asked to cancel the remaining ones; it may answer within this period.
    Cancelling(Wait),
    /// Nothing is awaited any more.
    Over,
}

/// What to do when a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The server is asked to cancel what it still executes.
    Cancel,
    /// It has not answered that: its clients are given up.
    GiveUp,
}

impl Ending {
    /// The grace period begins, as long as the responses so far make reasonable.
    pub(crate) fn begin(&mut self, now: Nanos, responses: &Latencies) {
        let grace = (responses.quantile(0.99) * 3).max(GRACE_SHORTEST).min(GRACE_LONGEST);
        *self = Self::Grace(Wait::until(now + grace));
    }

    /// The grace period ends now.
    pub(crate) fn end_grace(&mut self, now: Nanos) {
        if let Self::Grace(wait) = self {
            *wait = Wait::until(now);
        }
    }

    pub(crate) fn has_begun(&self) -> bool {
        !matches!(self, Self::NotBegun)
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Self::Over)
    }

    /// What is due now; after the grace period, the wait for cancellations begins.
    pub(crate) fn due(&mut self, now: Nanos) -> Option<Due> {
        let (Self::Grace(wait) | Self::Cancelling(wait)) = self else { return None };
        if !wait.is_over(now) {
            return None;
        }
        if matches!(self, Self::Cancelling(_)) {
            return Some(Due::GiveUp);
        }
        *self = Self::Cancelling(Wait::until(now + CANCEL_WAIT));
        Some(Due::Cancel)
    }

    /// When the end has to be continued, at the latest.
    pub(crate) fn next_wake(&self) -> Nanos {
        match self {
            Self::Grace(wait) | Self::Cancelling(wait) => wait.until,
            Self::NotBegun | Self::Over => Nanos::MAX,
        }
    }
}

/// A wait for the server. If it was delayed by a standstill, answers that arrived meanwhile have
/// not been read yet: the wait is then extended once by a moment, so that they are.
#[derive(Debug)]
pub(crate) struct Wait {
    until: Nanos,
    is_prolonged: bool,
}

impl Wait {
    fn until(until: Nanos) -> Self {
        Self { until, is_prolonged: false }
    }

    fn is_over(&mut self, now: Nanos) -> bool {
        if now - self.until > STANDSTILL_MIN && !self.is_prolonged {
            *self = Self { until: now + STANDSTILL_MIN, is_prolonged: true };
        }
        now >= self.until
    }
}

/// How long the server has been silent although answers were awaited.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    /// When the server was last heard from.
    pub(crate) last_heard: Nanos,
    /// When last no answer was awaited.
    pub(crate) last_unasked: Nanos,
}

impl Silence {
    /// Since when, if any worker of the run last heard from it at this instant.
    pub(crate) fn since(&self, last_heard_by_all: Nanos) -> Nanos {
        self.last_unasked.max(self.last_heard).max(last_heard_by_all)
    }
}

#[cfg(test)]
mod tests {
    use super::{Due, Ending};
    use dbdyno_hist::Latencies;
    use dbdyno_model::Nanos;

    fn ms(count: u64) -> Nanos {
        Nanos::from_millis(count)
    }

    fn begun(response: Nanos) -> Ending {
        let mut responses = Latencies::default();
        responses.record(response);
        let mut ending = Ending::default();
        ending.begin(Nanos::ZERO, &responses);
        ending
    }

    #[test]
    fn the_grace_is_three_times_a_slow_response_within_bounds() {
        for (response_ms, grace_ms) in [(1, 1_000..=1_000), (2_000, 5_900..=6_100)] {
            let grace = begun(ms(response_ms)).next_wake().0 / 1_000_000;
            assert!(grace_ms.contains(&grace), "{grace}");
        }
        assert_eq!(begun(ms(60_000)).next_wake(), ms(30_000));
    }

    #[test]
    fn after_the_grace_comes_the_cancellation_and_then_the_end() {
        let mut ending = begun(ms(1));
        let due = [999, 1_000, 5_999, 6_000].map(|now| ending.due(ms(now)));
        assert_eq!(due, [None, Some(Due::Cancel), None, Some(Due::GiveUp)]);
    }

    #[test]
    fn a_standstill_prolongs_a_wait_once() {
        let mut ending = begun(ms(1));
        let due = [4_000, 4_050, 9_000].map(|now| ending.due(ms(now)));
        assert_eq!(due, [None, None, Some(Due::Cancel)]);
    }
}
