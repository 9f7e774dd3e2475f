"""The clocks of a study, and what is said when they disagree.

Durations are taken from a clock that only goes forward; the time of day is for people. What
the two show over the same stretch differs when somebody sets the clock, or the machine sleeps.
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
    """Stands still while the machine sleeps."""
    boot: float
    """Goes on while the machine sleeps."""

    @property
    def text(self) -> str:
        """The time of day, as records have it."""
        return datetime.fromtimestamp(self.day, UTC).isoformat(timespec="milliseconds")


Clock = Callable[[], Instant]


def now() -> Instant:
    """This moment."""
    return Instant(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))


def told_jumps(begin: Instant, end: Instant) -> list[str]:
    """What went on with the clocks between two moments, each a sentence."""
    slept_s = (end.boot - begin.boot) - (end.steady - begin.steady)
    set_s = (end.day - begin.day) - (end.boot - begin.boot)
    told = []
    if slept_s > JUMP_S:
        told.append(f"the host was suspended for {slept_s:.0f} s meanwhile")
    if abs(set_s) > JUMP_S:
        told.append(
            f"the clock was set by {set_s:+.0f} s meanwhile: times of day are not to be trusted, "
            "durations are"
        )
    return told
