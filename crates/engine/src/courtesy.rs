//! Whom the engine interrupts where it shares processors with the server.
//!
//! A thread that mostly waits interrupts whoever works when it wakes. So each reply would interrupt
//! the server's thread that has just sent it, to fetch a single reply: of eight clients on two
//! processors, half of the transactions and more. The switches and the cold caches cost both sides.

use dbdyno_model::Arrivals;

/// The calling thread interrupts nobody where it has no time to keep: in a closed loop, whose next
/// transaction is due when the last has ended. It runs as soon as a processor is free, or in its
/// turn, and finds more replies at once. An open loop has to be punctual.
pub(crate) fn keep_for(arrivals: &Arrivals) {
    if matches!(arrivals, Arrivals::Closed { .. }) && runs_as_usual() {
        let none = libc::sched_param { sched_priority: 0 };
        // SAFETY: the pointer is to a live `sched_param`; 0 is the calling thread. Where it is
        // refused, as in some sandboxes, the thread goes on as it was.
        let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const none) };
    }
}

/// Whether nobody has chosen otherwise for this process.
fn runs_as_usual() -> bool {
    // SAFETY: 0 is the calling thread; the call reads no memory.
    unsafe { libc::sched_getscheduler(0) == libc::SCHED_OTHER }
}
