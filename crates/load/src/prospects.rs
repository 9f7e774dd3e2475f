//! Whether scripts can work at all, as all workers of a run know it together.
//!
//! A statement that is wrong, or not allowed, fails the same way each time. A script that has only
//! ever failed so, and that often, is hopeless, once each client that has begun it has seen it end.
//! Failures are fast: one client whose data or role is wrong fails many times while the others are
//! still in their first transaction, and one of those may well succeed. One success, or one failure
//! that another try may be spared, and it never is again: what a script did once it may do once
//! more.

use std::sync::atomic::{AtomicU32, Ordering};

/// So many lasting failures, and nothing else, leave no hope for a script.
pub const HOPELESS_AFTER: u32 = 10;

/// Stands for a script that may work.
const HOPEFUL: u32 = u32::MAX;

/// What is known of one script.
#[derive(Debug, Default)]
struct Prospect {
    /// Lasting failures, while it has seen nothing else.
    failures: AtomicU32,
    /// Clients that have begun it and not yet seen it end.
    curious: AtomicU32,
}

/// What is known of each script.
#[derive(Debug)]
pub struct Prospects {
    scripts: Vec<Prospect>,
    /// Workers whose clients have begun nothing yet: they wake at the same instant, and the kernel
    /// lets some of them run long before others.
    asleep: AtomicU32,
}

impl Prospects {
    /// Of so many scripts, of which nothing is known until so many workers have begun.
    pub fn new(scripts: usize, workers: u32) -> Self {
        let scripts = std::iter::repeat_with(Prospect::default).take(scripts).collect();
        Self { scripts, asleep: AtomicU32::new(workers) }
    }

    /// All clients of one more worker that have something to begin have begun it.
    pub(crate) fn worker_begun(&self) {
        self.asleep.fetch_sub(1, Ordering::AcqRel);
    }

    /// It succeeded, or failed in a way that another try may be spared.
    pub(crate) fn brighten(&self, script: usize) {
        // Nearly always known already: what all workers read, nobody shall write.
        if self.is_open(script) {
            self.scripts[script].failures.store(HOPEFUL, Ordering::Relaxed);
        }
    }

    /// Whether it is not known yet that it may work.
    pub(crate) fn is_open(&self, script: usize) -> bool {
        self.scripts[script].failures.load(Ordering::Relaxed) != HOPEFUL
    }

    /// A client begins it that has not seen it end.
    pub(crate) fn begin_first(&self, script: usize) {
        self.scripts[script].curious.fetch_add(1, Ordering::AcqRel);
    }

    /// It failed for good for a client that had not seen it end.
    pub(crate) fn darken_first(&self, script: usize) -> bool {
        self.scripts[script].curious.fetch_sub(1, Ordering::AcqRel);
        self.darken(script)
    }

    /// It failed for good once more; whether it is hopeless now.
    pub(crate) fn darken(&self, script: usize) -> bool {
        let Prospect { failures, curious } = &self.scripts[script];
        // To what stands for hope nothing can be added. Whoever counts the last failure has seen
        // what all others did before theirs.
        let one_more = |failures: u32| failures.checked_add(1);
        failures
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, one_more)
            .is_ok_and(|before| before + 1 >= HOPELESS_AFTER)
            && curious.load(Ordering::Acquire) == 0
            && self.asleep.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{HOPELESS_AFTER, Prospects};

    fn awake(scripts: usize) -> Prospects {
        Prospects::new(scripts, 0)
    }

    fn darken(prospects: &Prospects, times: u32) -> Vec<bool> {
        (0..times).map(|_| prospects.darken(0)).collect()
    }

    #[test]
    fn only_the_last_of_many_failures_takes_all_hope() {
        let told = darken(&awake(1), HOPELESS_AFTER + 1);
        let (last, first) = told.split_at(HOPELESS_AFTER as usize - 1);
        assert!(!last.contains(&true));
        assert_eq!(first, [true, true]);
    }

    #[test]
    fn one_success_is_hope_for_ever() {
        let prospects = awake(2);
        prospects.brighten(0);
        assert!(!darken(&prospects, 2 * HOPELESS_AFTER).contains(&true));
    }

    #[test]
    fn nothing_is_hopeless_while_a_client_has_yet_to_see_it_end() {
        let prospects = awake(1);
        (0..2).for_each(|_| prospects.begin_first(0));
        assert!(!prospects.darken_first(0));
        assert!(!darken(&prospects, 2 * HOPELESS_AFTER).contains(&true));
        assert!(prospects.darken_first(0));
    }

    #[test]
    fn nothing_is_hopeless_before_all_workers_have_begun() {
        let prospects = Prospects::new(1, 2);
        prospects.worker_begun();
        assert!(!darken(&prospects, 2 * HOPELESS_AFTER).contains(&true));
        prospects.worker_begun();
        assert!(prospects.darken(0));
    }
}
