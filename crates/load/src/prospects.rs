//! Whether scripts can work at all, as all workers of a run know it together.
//!
//! A statement that is wrong, or not allowed, fails the same way each time. A script that has only
//! ever failed so, and that often, is hopeless. One success, or one failure that another try may be
//! spared, and it never is again: what a script did once it may do once more.

use std::sync::atomic::{AtomicU32, Ordering};

/// So many lasting failures, and nothing else, leave no hope for a script.
pub const HOPELESS_AFTER: u32 = 10;

/// Stands for a script that may work.
const HOPEFUL: u32 = u32::MAX;

/// Lasting failures of each script that has seen nothing else.
#[derive(Debug)]
pub struct Prospects(Vec<AtomicU32>);

impl Prospects {
    /// Of so many scripts, of which nothing is known yet.
    pub fn new(scripts: usize) -> Self {
        Self((0..scripts).map(|_| AtomicU32::new(0)).collect())
    }

    /// It succeeded, or failed in a way that another try may be spared.
    pub(crate) fn brighten(&self, script: usize) {
        // Nearly always known already: what all workers read, nobody shall write.
        if self.0[script].load(Ordering::Relaxed) != HOPEFUL {
            self.0[script].store(HOPEFUL, Ordering::Relaxed);
        }
    }

    /// It failed for good once more; whether it is hopeless now.
    pub(crate) fn darken(&self, script: usize) -> bool {
        // To what stands for hope nothing can be added.
        let one_more = |failures: u32| failures.checked_add(1);
        self.0[script]
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .is_ok_and(|before| before + 1 >= HOPELESS_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use super::{HOPELESS_AFTER, Prospects};

    fn darken(prospects: &Prospects, times: u32) -> Vec<bool> {
        (0..times).map(|_| prospects.darken(0)).collect()
    }

    #[test]
    fn only_the_last_of_many_failures_takes_all_hope() {
        let told = darken(&Prospects::new(1), HOPELESS_AFTER + 1);
        let (last, first) = told.split_at(HOPELESS_AFTER as usize - 1);
        assert!(!last.contains(&true));
        assert_eq!(first, [true, true]);
    }

    #[test]
    fn one_success_is_hope_for_ever() {
        let prospects = Prospects::new(2);
        prospects.brighten(0);
        assert!(!darken(&prospects, 2 * HOPELESS_AFTER).contains(&true));
    }
}
