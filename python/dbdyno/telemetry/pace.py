"""How often the sessions are looked at: as often as is asked for, as long as it is cheap. Pure."""

from collections.abc import Callable
from math import ceil
from typing import NamedTuple

from msgspec import Struct

from dbdyno.model.telemetry import FIRST_LOOK_AT_LOCKS, Level


class Pace(Struct, frozen=True, kw_only=True):
    """What a level of telemetry asks for: a look every ``interval_ns``.

    Or only at every second of these instants, every third, and so on until every
    ``steps_max``-th, so that all of telemetry takes no more than ``share`` of the machine. Looks
    have what the rest leaves of it, and ``looks_share`` at least.
    """

    interval_ns: int
    share: float
    looks_share: float
    steps_max: int


PACES: dict[Level, Pace] = {
    "basic": Pace(interval_ns=500_000_000, share=0.007, looks_share=0.0035, steps_max=10),
    "full": Pace(interval_ns=40_000_000, share=0.009, looks_share=0.006, steps_max=125),
}

LOCKS_SHARE = 0.3
"""Of what looks may take, for the locks, where not all of them can be at the locks, too."""


class Costs(NamedTuple):
    """What one look takes: at the sessions, and what it takes more to look at the locks, too."""

    sessions_ns: int
    locks_ns: int = 0


def activity_interval_ns(level: Level) -> int | None:
    """How often the engine is to say what its clients do; None when nobody asks."""
    return PACES[level].interval_ns if level in PACES else None


class Stride:
    """Chooses which of the evenly spaced instants to use: ``apart_s`` from each other at least.

    And at which of them the locks are looked at, too: at all, or, where that is dear, more rarely,
    so that the sessions are seen the more often. ``rest`` tells what share of the machine the
    rest of telemetry takes.
    """

    def __init__(
        self, pace: Pace, cores: int, rest: Callable[[], float], apart_s: float = 0.0
    ) -> None:
        self._pace = pace
        self._cores = cores
        self._rest = rest
        self.interval_ns = pace.interval_ns
        self._steps_min = max(ceil(apart_s * 1e9 / pace.interval_ns), 1)
        self._planned = 1
        self._locks_planned = FIRST_LOOK_AT_LOCKS

    def steps(self, costs: Costs) -> int:
        """Which are used when a look costs so much: all with 1, every second one with 2."""
        for_locks = min(costs.locks_ns, costs.sessions_ns * LOCKS_SHARE / (1 - LOCKS_SHARE))
        return self._affordable(costs.sessions_ns + for_locks)

    def locks_steps(self, costs: Costs) -> int:
        """The same for the locks."""
        both_ns = costs.sessions_ns + costs.locks_ns
        return self._affordable(max(both_ns, costs.locks_ns / LOCKS_SHARE))

    def _affordable(self, cost_ns: float) -> int:
        for_looks = max(self._pace.share - self._rest(), self._pace.looks_share)
        affordable = ceil(cost_ns / (for_looks * self._cores * self.interval_ns))
        return max(min(affordable, self._pace.steps_max), self._steps_min)

    def seconds(self, since: int, costs: Costs) -> float:
        """What a look stands for that comes so many instants after the one before it.

        Never more than is planned between two: what passed while a look was held up, nobody saw.
        """
        return min(since, self.steps(costs)) * self.interval_ns / 1e9

    def after(self, number: int, passed: int, costs: Costs) -> int:
        """The instant after this one; those until ``passed`` are over.

        A look that was held up does not move those after it: the next comes as soon as it can.
        But what was missed by more than a stride is let go, or a stall would end in a burst.
        """
        steps = self.steps(costs)
        self._planned = max(self._planned + steps, number + self._steps_min, passed + 1 - steps)
        return max(self._planned, passed + 1)

    def is_at_locks(self, number: int) -> bool:
        """Whether the locks are due at this instant."""
        return number >= self._locks_planned

    def locks_seen(self, number: int, costs: Costs) -> None:
        """They were looked at. What was missed is not made up for: each tells of all before it."""
        steps = self.locks_steps(costs)
        planned = self._locks_planned + steps
        self._locks_planned = planned if planned > number else number + steps
