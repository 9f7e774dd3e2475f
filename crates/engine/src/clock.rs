//! The run's clock: the kernel's monotonic one.

use dbdyno_model::Nanos;
use rustix::time::{ClockId, Timespec, clock_gettime};

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

/// A span as the kernel wants it.
pub(crate) fn timespec(span: Nanos) -> Timespec {
    Timespec { tv_sec: (span.0 / 1_000_000_000) as i64, tv_nsec: (span.0 % 1_000_000_000) as i64 }
}
