//! Whether each script can work at all, as known to all workers of a run together.
//!
//! A wrong or forbidden statement fails in the same way each time. A script is hopeless when it has
//! only failed permanently, and [`HOPELESS_AFTER`] times, and each client that began it has seen it
//! end. The last condition matters because failures are fast: one client with wrong data or rights
//! fails many times while the others are still in their first transaction, which may well succeed.
//! After one success, or one failure that a retry may avoid, a script is never hopeless: what
//! worked once may work again.

use std::sync::atomic::{AtomicU32, Ordering};

/// A script is hopeless after this many permanent failures and nothing else.
pub const HOPELESS_AFTER: u32 = 10;

/// Stands for a script that may work.
const VIABLE: u32 = u32::MAX;

/// What is known of one script.
#[derive(Debug, Default)]
struct Evidence {
    /// Permanent failures, as long as nothing else has happened.
    failures: AtomicU32,
    /// Clients that have begun it and not yet seen it end.
    not_seen_ending: AtomicU32,
}

/// What is known of each script.
#[derive(Debug)]
pub(crate) struct ScriptViability {
    scripts: Vec<Evidence>,
    /// Workers whose clients have not begun yet: they wake at the same instant, but the kernel may
    /// let some of them run long before others.
    workers_not_begun: AtomicU32,
}

impl ScriptViability {
    /// For this many scripts; nothing is decided until this many workers have begun.
    pub(crate) fn new(scripts: usize, workers: u32) -> Self {
        let scripts = std::iter::repeat_with(Evidence::default).take(scripts).collect();
        Self { scripts, workers_not_begun: AtomicU32::new(workers) }
    }

    /// One more worker has begun: all of its clients that had something to begin have begun it.
    pub(crate) fn worker_begun(&self) {
        self.workers_not_begun.fetch_sub(1, Ordering::AcqRel);
    }

    /// It succeeded, or failed in a way that a retry may avoid.
    pub(crate) fn mark_viable(&self, script: usize) {
        // Nearly always known already: shared memory that all workers read is then not written.
        if self.is_undecided(script) {
            self.scripts[script].failures.store(VIABLE, Ordering::Relaxed);
        }
    }

    /// Whether it is not yet known that the script may work.
    pub(crate) fn is_undecided(&self, script: usize) -> bool {
        self.scripts[script].failures.load(Ordering::Relaxed) != VIABLE
    }

    /// A client that has not seen the script end begins it.
    pub(crate) fn begin_first(&self, script: usize) {
        self.scripts[script].not_seen_ending.fetch_add(1, Ordering::AcqRel);
    }

    /// It failed permanently for a client that had not seen it end.
    pub(crate) fn count_first_failure(&self, script: usize) -> bool {
        self.scripts[script].not_seen_ending.fetch_sub(1, Ordering::AcqRel);
        self.count_failure(script)
    }

    /// It failed permanently once more; returns whether it is hopeless now.
    pub(crate) fn count_failure(&self, script: usize) -> bool {
        let Evidence { failures, not_seen_ending } = &self.scripts[script];
        // The value of a viable script cannot be incremented. The thread that counts the last
        // failure has seen what all others did before theirs.
        let one_more = |failures: u32| failures.checked_add(1);
        failures
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, one_more)
            .is_ok_and(|before| before + 1 >= HOPELESS_AFTER)
            && not_seen_ending.load(Ordering::Acquire) == 0
            && self.workers_not_begun.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{HOPELESS_AFTER, ScriptViability};

    fn all_begun(scripts: usize) -> ScriptViability {
        ScriptViability::new(scripts, 0)
    }

    fn count_failure(viability: &ScriptViability, times: u32) -> Vec<bool> {
        (0..times).map(|_| viability.count_failure(0)).collect()
    }

    #[test]
    fn only_the_last_of_many_failures_makes_a_script_hopeless() {
        let results = count_failure(&all_begun(1), HOPELESS_AFTER + 1);
        let (last, first) = results.split_at(HOPELESS_AFTER as usize - 1);
        assert!(!last.contains(&true));
        assert_eq!(first, [true, true]);
    }

    #[test]
    fn one_success_makes_a_script_viable_for_ever() {
        let viability = all_begun(2);
        viability.mark_viable(0);
        assert!(!count_failure(&viability, 2 * HOPELESS_AFTER).contains(&true));
    }

    #[test]
    fn nothing_is_hopeless_while_a_client_has_yet_to_see_it_end() {
        let viability = all_begun(1);
        (0..2).for_each(|_| viability.begin_first(0));
        assert!(!viability.count_first_failure(0));
        assert!(!count_failure(&viability, 2 * HOPELESS_AFTER).contains(&true));
        assert!(viability.count_first_failure(0));
    }

    #[test]
    fn nothing_is_hopeless_before_all_workers_have_begun() {
        let viability = ScriptViability::new(1, 2);
        viability.worker_begun();
        assert!(!count_failure(&viability, 2 * HOPELESS_AFTER).contains(&true));
        viability.worker_begun();
        assert!(viability.count_failure(0));
    }
}
