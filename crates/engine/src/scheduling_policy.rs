//! The scheduling policy of the engine's threads.
//!
//! A thread that mostly waits preempts whatever runs when it wakes. On processors shared with the
//! server, each reply would preempt the server's thread that has just sent it, to fetch a single
//! reply: with eight clients on two processors, in more than half of the transactions. The context
//! switches and cold caches cost both sides.
//!
//! A thread with a single client has no other reply to wait for. If it preempts, its next request is
//! there before the server's thread has gone to sleep, which then need not be woken: with two such
//! threads on two processors, throughput is 1.13 times as high with PostgreSQL, 1.16 with MariaDB.

use dbdyno_model::Arrivals;

/// Makes the calling thread, which has this many clients, a batch thread in a closed loop, where the
/// next transaction is due when the last one has ended. It then preempts nobody: it runs as soon as
/// a processor is free or its time slice comes, and finds more replies at once. In an open loop it
/// keeps the default policy, because it has to be punctual.
pub(crate) fn choose_for(arrivals: &Arrivals, clients: usize) {
    if clients > 1 && matches!(arrivals, Arrivals::Closed { .. }) && is_default() {
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
