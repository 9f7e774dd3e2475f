"""How often sessions are sampled: as often as requested, while that is cheap enough. Pure."""

from collections.abc import Callable
from math import ceil
from typing import NamedTuple

from msgspec import Struct

from dbdyno.model.telemetry import FIRST_LOCK_SAMPLE, Level


class Pace(Struct, frozen=True, kw_only=True):
    """What a telemetry level requests: a session sample every ``interval_ns``.

    If that is too expensive, only every second of these instants is used, every third, and so on up
    to every ``steps_max``-th, so that all of telemetry takes at most ``share`` of the host's CPU
    time. Session samples get what the rest of telemetry leaves of it, at least ``samples_share``.
    """

    interval_ns: int
    share: float
    samples_share: float
    steps_max: int


PACES: dict[Level, Pace] = {
    "basic": Pace(interval_ns=500_000_000, share=0.007, samples_share=0.0035, steps_max=10),
    "full": Pace(interval_ns=40_000_000, share=0.012, samples_share=0.008, steps_max=125),
}

LOCKS_SHARE = 0.3
"""The part of the samples' budget that locks may take if not every sample can include them."""


class Costs(NamedTuple):
    """The cost of one session sample, and the additional cost of sampling the locks as well."""

    sessions_ns: int
    locks_ns: int = 0


def activity_interval_ns(level: Level) -> int | None:
    """Return how often the engine reports what its clients do; None if that is not needed."""
    return PACES[level].interval_ns if level in PACES else None


class Stride:
    """Chooses which of the evenly spaced instants to use: at least ``apart_s`` apart.

    It also chooses at which of them the locks are sampled: at all, or at fewer where that is
    expensive, so that the sessions can be sampled more often. ``rest`` returns the share of the
    host's CPU time that the rest of telemetry takes.
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
        self._samples_without_locks = FIRST_LOCK_SAMPLE - 1
        self._locks_planned = 0

    def steps(self, costs: Costs) -> int:
        """Return which instants are used at these costs: 1 for all, 2 for every second one."""
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
        """Return the seconds that a sample stands for, ``since`` this many instants after the last.

        At most the planned distance between two: what happened while a sample was delayed, nobody
        saw.
        """
        return min(since, self.steps(costs)) * self.interval_ns / 1e9

    def after(self, number: int, passed: int, costs: Costs) -> int:
        """Return the next instant to use, after ``passed``, the last one that is already over.

        A delayed sample does not move those after it: the next is taken as soon as possible. But if
        more than a stride was missed, it is skipped; otherwise a stall would end in a burst.
        """
        steps = self.steps(costs)
        self._planned = max(self._planned + steps, number + self._steps_min, passed + 1 - steps)
        return max(self._planned, passed + 1)

    def is_at_locks(self, number: int) -> bool:
        """Whether the sample at this instant includes the locks. The first ones do not."""
        if self._samples_without_locks:
            self._samples_without_locks -= 1
            self._locks_planned = number + 1
            return False
        return number >= self._locks_planned

    def locks_seen(self, number: int, costs: Costs) -> None:
        """Note a lock sample. Missed ones are not repeated: each stands for all time before it."""
        steps = self.locks_steps(costs)
        planned = self._locks_planned + steps
        self._locks_planned = planned if planned > number else number + steps
