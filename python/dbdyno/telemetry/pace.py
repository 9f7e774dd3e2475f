"""How often the sessions are sampled: as often as is asked for, as long as it is cheap. Pure."""

from collections.abc import Callable
from math import ceil
from typing import NamedTuple

from msgspec import Struct

from dbdyno.model.telemetry import FIRST_LOCK_SAMPLE, Level


class Pace(Struct, frozen=True, kw_only=True):
    """What a level of telemetry asks for: a sample every ``interval_ns``.

    Or only at every second of these instants, every third, and so on until every
    ``steps_max``-th, so that all of telemetry takes no more than ``share`` of the machine. Samples
    have what the rest leaves of it, and ``samples_share`` at least.
    """

    interval_ns: int
    share: float
    samples_share: float
    steps_max: int


PACES: dict[Level, Pace] = {
    "basic": Pace(interval_ns=500_000_000, share=0.007, samples_share=0.0035, steps_max=10),
    "full": Pace(interval_ns=40_000_000, share=0.009, samples_share=0.006, steps_max=125),
}

LOCKS_SHARE = 0.3
"""Of what samples may take, for the locks, where not all of them can include the locks."""


class Costs(NamedTuple):
    """What one sample takes: of the sessions, and what it takes more to include the locks."""

    sessions_ns: int
    locks_ns: int = 0


def activity_interval_ns(level: Level) -> int | None:
    """Return how often the engine reports what its clients do; None if that is not needed."""
    return PACES[level].interval_ns if level in PACES else None


class Stride:
    """Chooses which of the evenly spaced instants to use: at least ``apart_s`` apart.

    And at which of them the locks are sampled, too: at all, or, where that is dear, more rarely,
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
        self._locks_planned = FIRST_LOCK_SAMPLE

    def steps(self, costs: Costs) -> int:
        """Which are used when a sample costs so much: all with 1, every second one with 2."""
        for_locks = min(costs.locks_ns, costs.sessions_ns * LOCKS_SHARE / (1 - LOCKS_SHARE))
        return self._affordable(costs.sessions_ns + for_locks)

    def locks_steps(self, costs: Costs) -> int:
        """Return the same for lock samples."""
        both_ns = costs.sessions_ns + costs.locks_ns
        return self._affordable(max(both_ns, costs.locks_ns / LOCKS_SHARE))

    def _affordable(self, cost_ns: float) -> int:
        for_samples = max(self._pace.share - self._rest(), self._pace.samples_share)
        affordable = ceil(cost_ns / (for_samples * self._cores * self.interval_ns))
        return max(min(affordable, self._pace.steps_max), self._steps_min)

    def seconds(self, since: int, costs: Costs) -> float:
        """What a sample stands for that comes so many instants after the one before it.

        Never more than is planned between two: what passed while a sample was held up, nobody saw.
        """
        return min(since, self.steps(costs)) * self.interval_ns / 1e9

    def after(self, number: int, passed: int, costs: Costs) -> int:
        """Return the next instant to use, after ``passed``, the last one that is already over.

        A sample that was held up does not move those after it: the next comes as soon as it can.
        But what was missed by more than a stride is let go, or a stall would end in a burst.
        """
        steps = self.steps(costs)
        self._planned = max(self._planned + steps, number + self._steps_min, passed + 1 - steps)
        return max(self._planned, passed + 1)

    def is_at_locks(self, number: int) -> bool:
        """Whether a lock sample is due at this instant."""
        return number >= self._locks_planned

    def locks_seen(self, number: int, costs: Costs) -> None:
        """They were sampled. What was missed is not made up for: each tells of all before it."""
        steps = self.locks_steps(costs)
        planned = self._locks_planned + steps
        self._locks_planned = planned if planned > number else number + steps
