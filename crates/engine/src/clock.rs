//! The clock of a run: the kernel's monotonic clock.

use dbdyno_model::Nanos;
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::num::NonZeroU64;

fn nanos(time: Timespec) -> Nanos {
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The current time.
#[inline]
pub fn now() -> Nanos {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// The current time in nanoseconds since 1970.
pub(crate) fn unix_now() -> Nanos {
    nanos(clock_gettime(ClockId::Realtime))
}

/// Makes the calling thread's timed waits end on time. By default the kernel delays timers by up to
/// 50 µs to combine wake-ups, which would make each arrival of an open loop as late.
pub(crate) fn minimize_timer_slack() {
    // Where it is refused, as in some sandboxes, the thread keeps that delay.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// A duration in the kernel's format.
pub(crate) fn timespec(span: Nanos) -> Timespec {
    Timespec { tv_sec: (span.0 / 1_000_000_000) as i64, tv_nsec: (span.0 % 1_000_000_000) as i64 }
}
