//! Counts samples by second, task and function.

use std::collections::BTreeMap;

/// How often a task was seen in a function within one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// When the second began, on the monotonic clock.
    pub second_ns: u64,
    /// The process.
    pub pid: u32,
    /// The thread; the process's number for its first.
    pub tid: u32,
    /// The function's number.
    pub function: u32,
    /// How many samples.
    pub samples: u32,
}

const SECOND_NS: u64 = 1_000_000_000;

/// Counts that nobody has taken yet.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// How far into a second of the clock each second begins.
    offset_ns: u64,
    counts: BTreeMap<(u64, u32, u32, u32), u32>,
}

impl Tally {
    /// Seconds begin at an instant, and whole seconds before and after it.
    pub(crate) fn begin(&mut self, origin_ns: u64) {
        self.offset_ns = origin_ns % SECOND_NS;
    }

    pub(crate) fn add(&mut self, time_ns: u64, pid: u32, tid: u32, function: u32) {
        let since_ns = time_ns.saturating_sub(self.offset_ns);
        let second_ns = since_ns - since_ns % SECOND_NS + self.offset_ns;
        *self.counts.entry((second_ns, pid, tid, function)).or_default() += 1;
    }

    /// Take the counts of seconds that began before an instant, and forget them.
    pub(crate) fn take_before(&mut self, until_ns: u64) -> Vec<Count> {
        let later = self.counts.split_off(&(until_ns, 0, 0, 0));
        std::mem::replace(&mut self.counts, later)
            .into_iter()
            .map(|((second_ns, pid, tid, function), samples)| Count {
                second_ns,
                pid,
                tid,
                function,
                samples,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_begin_at_the_origin() {
        let mut tally = Tally::default();
        tally.begin(7 * SECOND_NS + 300);
        tally.add(2 * SECOND_NS + 299, 7, 7, 0);
        tally.add(2 * SECOND_NS + 300, 7, 7, 0);
        let begins: Vec<_> = tally.take_before(u64::MAX).iter().map(|its| its.second_ns).collect();
        assert_eq!(begins, [SECOND_NS + 300, 2 * SECOND_NS + 300]);
    }

    #[test]
    fn samples_of_a_second_are_added_up() {
        let mut tally = Tally::default();
        tally.add(SECOND_NS + 1, 7, 7, 0);
        tally.add(2 * SECOND_NS - 1, 7, 7, 0);
        tally.add(2 * SECOND_NS, 7, 7, 0);
        let first = tally.take_before(2 * SECOND_NS);
        assert_eq!(first.len(), 1);
        assert_eq!((first[0].second_ns, first[0].samples), (SECOND_NS, 2));
        assert_eq!(tally.take_before(u64::MAX).len(), 1);
        assert!(tally.take_before(u64::MAX).is_empty());
    }
}
