//! Notices when this process stands still: stopped, frozen, or without a processor.
//!
//! The server's replies then lie unread, and no request follows, so the clients measure a slow
//! server. A thread that waits for a moment and wakes much later has seen such a pause, as jHiccup
//! does it (G. Tene, "How NOT to measure latency", 2013).

use dbdyno_model::Nanos;

/// The longest wait of the thread that looks.
const PULSE: Nanos = Nanos::from_millis(20);
/// Waking this much too late is a pause; less is how long a thread may wait for a busy processor.
const PAUSE_MIN: Nanos = Nanos::from_millis(100);

/// The pauses that no reported interval contains yet.
#[derive(Debug, Default)]
pub(super) struct Pauses(Vec<(Nanos, Nanos)>);

/// When a wait that begins now is to end: as wanted, but neither in the past nor after the pulse.
pub(super) fn wake_at(now: Nanos, wanted: Nanos) -> Nanos {
    wanted.clamp(now, now + PULSE)
}

impl Pauses {
    /// A wait that should have ended by `due` has ended.
    pub(super) fn woke(&mut self, due: Nanos, now: Nanos) {
        if now - due >= PAUSE_MIN {
            self.0.push((due, now));
        }
    }

    /// How much of an interval was a pause. Intervals are taken in the order of time.
    pub(super) fn take(&mut self, begin: Nanos, end: Nanos) -> Nanos {
        let within = |&(from, to): &(Nanos, Nanos)| to.min(end) - from.max(begin);
        let paused = self.0.iter().map(within).fold(Nanos::ZERO, |sum, part| sum + part);
        self.0.retain(|&(_, to)| to > end);
        paused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    #[test]
    fn a_wait_ends_with_the_pulse_unless_sooner() {
        assert_eq!(wake_at(at(100), at(500)), at(120));
        assert_eq!(wake_at(at(100), at(110)), at(110));
        assert_eq!(wake_at(at(100), at(90)), at(100));
    }

    #[test]
    fn a_thread_that_wakes_a_little_late_was_not_paused() {
        let mut pauses = Pauses::default();
        pauses.woke(at(100), at(199));
        assert_eq!(pauses.take(at(0), at(1000)), at(0));
        pauses.woke(at(100), at(200));
        assert_eq!(pauses.take(at(0), at(1000)), at(100));
    }

    #[test]
    fn a_pause_belongs_to_every_interval_that_it_covers() {
        let mut pauses = Pauses::default();
        pauses.woke(at(800), at(2300));
        pauses.woke(at(2500), at(2700));
        let intervals = [(0, 1000), (1000, 2000), (2000, 3000), (3000, 4000)];
        let paused = intervals.map(|(begin, end)| pauses.take(at(begin), at(end)));
        assert_eq!(paused, [at(200), at(1000), at(500), at(0)]);
    }

    #[test]
    fn time_outside_of_an_interval_does_not_count() {
        let mut pauses = Pauses::default();
        pauses.woke(at(100), at(400));
        assert_eq!(pauses.take(at(1000), at(2000)), at(0));
    }
}
