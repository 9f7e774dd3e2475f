"""How often the sessions are looked at: as often as is asked for, as long as it is cheap. Pure.

The cost of a look is the least of the last few: the longer ones waited for a processor or a
lock, and on a busy server that would slow the watch where it is needed most.
"""

from collections import deque
from math import ceil

from msgspec import Struct

from dbdyno.model.telemetry import Level

_REMEMBERED = 8


class Pace(Struct, frozen=True, kw_only=True):
    """What a level of telemetry asks for: a look every ``interval_ns``.

    Or, so that it takes no more than ``share`` of the machine, only at every ``steps_max``-th
    of these instants.
    """

    interval_ns: int
    steps_max: int
    share: float


PACES: dict[Level, Pace] = {
    "basic": Pace(interval_ns=500_000_000, steps_max=10, share=0.01),
    "full": Pace(interval_ns=20_000_000, steps_max=250, share=0.02),
}


def activity_interval_ns(level: Level) -> int | None:
    """How often the engine is to say what its clients do; None when nobody asks."""
    return PACES[level].interval_ns if level in PACES else None


class Stride:
    """Chooses which of the evenly spaced instants to use: ``apart_s`` from each other at least."""

    def __init__(self, pace: Pace, cores: int, apart_s: float = 0.0) -> None:
        self._pace = pace
        self.interval_ns = pace.interval_ns
        self._bound_ns = pace.share * cores * pace.interval_ns
        self._steps_min = max(ceil(apart_s * 1e9 / pace.interval_ns), 1)
        self._costs_ns: deque[int] = deque(maxlen=_REMEMBERED)

    def learn(self, cost_ns: int) -> None:
        """A look took so long."""
        self._costs_ns.append(cost_ns)

    @property
    def steps(self) -> int:
        """Which instants are used: all with 1, every second one with 2, and so on."""
        wanted = ceil(min(self._costs_ns, default=0) / self._bound_ns)
        return max(min(wanted, self._pace.steps_max), self._steps_min)

    def after(self, number: int, passed: int) -> int:
        """The instant after this one; those until ``passed`` are over."""
        return max(number + self.steps, passed + 1)
