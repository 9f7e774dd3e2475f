//! The scheduling policy of the engine's threads.
//!
//! A thread that mostly waits preempts whatever runs when it wakes. On processors shared with the
//! server, each reply would preempt the server's thread that has just sent it, to fetch a single
//! reply: with eight clients on two processors, in more than half of the transactions. The context
//! switches and cold caches cost both sides.

use dbdyno_model::Arrivals;

/// Makes the calling thread a batch thread in a closed loop, where the next transaction is due when
/// the last one has ended. It then preempts nobody: it runs as soon as a processor is free or its
/// time slice comes, and finds more replies at once. In an open loop it keeps the default policy,
/// because it has to be punctual.
pub(crate) fn choose_for(arrivals: &Arrivals) {
    if matches!(arrivals, Arrivals::Closed { .. }) && is_default() {
        let parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: the pointer is to a live `sched_param`; 0 is the calling thread. Where it is
        // refused, as in some sandboxes, the thread keeps its policy.
        let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) };
    }
}

/// Whether the thread has the default policy: the user has not chosen another one for the process.
fn is_default() -> bool {
    // SAFETY: 0 is the calling thread; the call reads no memory.
    unsafe { libc::sched_getscheduler(0) == libc::SCHED_OTHER }
}
