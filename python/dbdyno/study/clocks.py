"""The clocks of a study, and the messages when they disagree.

Durations are taken from a monotonic clock; the time of day is for people. The two disagree about
the same period when somebody sets the clock, or when the host is suspended.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

JUMP_S = 1.0


@dataclass(frozen=True)
class Instant:
    """One moment on all clocks, in seconds."""

    day: float
    steady: float
    """Stops while the host is suspended."""
    boot: float
    """Continues while the host is suspended."""

    @property
    def text(self) -> str:
        """The time of day, as in records."""
        return datetime.fromtimestamp(self.day, UTC).isoformat(timespec="milliseconds")


Clock = Callable[[], Instant]


def now() -> Instant:
    """Return the present moment."""
    return Instant(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))


def clock_jumps(begin: Instant, end: Instant) -> list[str]:
    """Return a sentence for each irregularity of the clocks between two moments."""
    slept_s = (end.boot - begin.boot) - (end.steady - begin.steady)
    set_s = (end.day - begin.day) - (end.boot - begin.boot)
    jumps = []
    if slept_s > JUMP_S:
        jumps.append(f"the host was suspended for {slept_s:.0f} s meanwhile")
    if abs(set_s) > JUMP_S:
        jumps.append(
            f"the clock was set by {set_s:+.0f} s meanwhile: times of day are not to be trusted, "
            "durations are"
        )
    return jumps
