//! How much a part can have reported by now: what comes ahead of time, or without end, would fill the
//! memory of whoever adds it up.

use super::Arrival;
use dbdyno_model::Nanos;

/// What a clock may be ahead, …
const AHEAD_MAX: Nanos = Nanos::from_secs(1);
/// … and by what share of the time it may be fast: clocks are steered by half of that at most.
const FAST_SHARE: u64 = 1000;
/// Reports beside those that come in even steps: the first, the last, and at the ends of phases.
const FURTHER: u64 = 16;

/// The reports of one kind so far, which come in order and in steps.
#[derive(Debug, Default)]
pub(super) struct Pace<Key> {
    last: Option<Key>,
    count: u64,
}

impl<Key: Ord + Copy> Pace<Key> {
    /// Takes one more that is over at `end`, or says what about it no engine does; some `further`
    /// ones are out of step.
    pub(super) fn take(
        &mut self,
        arrival: Arrival,
        key: Key,
        end: Nanos,
        step: Nanos,
        further: u64,
    ) -> Result<(), String> {
        let elapsed = arrival.now - arrival.begin;
        let latest = arrival.now + AHEAD_MAX + Nanos(elapsed.0 / FAST_SHARE);
        if end > latest {
            let ahead = (end - arrival.now).as_secs_f64();
            return Err(format!("a report of a time {ahead:.1} s ahead"));
        }
        if self.last >= Some(key) {
            return Err("a report of the same time again, or of an earlier one".into());
        }
        self.last = Some(key);
        self.count += 1;
        let most = (latest - arrival.begin).0 / step.0.max(1) + FURTHER + further;
        if self.count > most {
            return Err(format!("{} reports of a time that has at most {most}", self.count));
        }
        Ok(())
    }
}
