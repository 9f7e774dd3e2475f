//! Transactions that are deferred: a client puts its own into the queue of its thread and goes on
//! at once, and one of the thread's executors, which run nothing else, takes it from there.
//!
//! It is due when it is put there, so its response time includes its time in the queue.

use dbdyno_model::Nanos;
use std::collections::VecDeque;

/// A transaction in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deferred {
    /// The client whose transaction it is, by its number over the whole run.
    pub(crate) who: u64,
    /// Its index among that client's transactions.
    pub(crate) number: u64,
    pub(crate) due: Nanos,
}

/// The queue of a worker, and its executors that have nothing to do.
#[derive(Debug, Default)]
pub(crate) struct Deferral {
    queue: VecDeque<Deferred>,
    /// Longest first.
    idle: VecDeque<usize>,
}

impl Deferral {
    pub(crate) fn put(&mut self, deferred: Deferred) {
        self.queue.push_back(deferred);
    }

    /// The oldest transaction, and the executor that takes it, if there are both.
    pub(crate) fn take(&mut self) -> Option<(Deferred, usize)> {
        let (&deferred, &executor) = (self.queue.front()?, self.idle.front()?);
        self.queue.pop_front();
        self.idle.pop_front();
        Some((deferred, executor))
    }

    /// An executor that would wait for ever, if nothing more is put here.
    pub(crate) fn take_idle(&mut self) -> Option<usize> {
        if self.queue.is_empty() { self.idle.pop_front() } else { None }
    }

    /// Whether an executor has nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && !self.idle.is_empty()
    }

    /// The executor has nothing to do.
    pub(crate) fn add_idle(&mut self, executor: usize) {
        self.idle.push_back(executor);
    }

    /// The executor takes nothing for now.
    pub(crate) fn forget_idle(&mut self, executor: usize) {
        self.idle.retain(|&other| other != executor);
    }

    /// No executor takes anything for now.
    pub(crate) fn forget_all_idle(&mut self) {
        self.idle.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{Deferral, Deferred};
    use dbdyno_model::Nanos;

    #[test]
    fn the_oldest_goes_to_the_executor_that_waited_longest() {
        let mut deferral = Deferral::default();
        let [first, second] =
            [1, 2].map(|number| Deferred { who: 9, number, due: Nanos(number * 10) });
        deferral.put(first);
        assert_eq!(deferral.take(), None);
        for executor in [5, 6, 7] {
            deferral.add_idle(executor);
        }
        deferral.forget_idle(5);
        deferral.put(second);
        assert_eq!(deferral.take_idle(), None);
        assert_eq!(deferral.take(), Some((first, 6)));
        assert_eq!(deferral.take(), Some((second, 7)));
        assert_eq!((deferral.take(), deferral.take_idle()), (None, None));
    }
}
