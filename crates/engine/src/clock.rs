//! The run's clock: the kernel's monotonic one.

use dbdyno_model::Nanos;
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::num::NonZeroU64;

fn nanos(time: Timespec) -> Nanos {
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Now.
#[inline]
pub(crate) fn now() -> Nanos {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// Now, as nanoseconds since 1970.
pub(crate) fn unix_now() -> Nanos {
    nanos(clock_gettime(ClockId::Realtime))
}

/// Lets the calling thread's timers end its waits on time: the kernel puts them off by 50 µs, to wake
/// up for several at once, and each arrival of an open loop would be as late.
pub(crate) fn be_punctual() {
    // Where it is refused, as in some sandboxes, the thread is that late.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// A span as the kernel wants it.
pub(crate) fn timespec(span: Nanos) -> Timespec {
    Timespec { tv_sec: (span.0 / 1_000_000_000) as i64, tv_nsec: (span.0 % 1_000_000_000) as i64 }
}
