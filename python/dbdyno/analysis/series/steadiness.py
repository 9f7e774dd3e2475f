"""Whether a run stayed at one level, and how much it varied.

One test serves for steps and for drifts: the best split of the series into two levels. A drift
shows as a step in the middle, which is all a reader needs to know.

How much throughput varies is one number, over samples of one second: counting noise alone makes
samples of a quarter of a second vary twice as much.
"""

import numpy as np
from msgspec import Struct

from dbdyno.analysis.series.planned_load import is_constant_load
from dbdyno.analysis.series.timeline import Timeline
from dbdyno.analysis.statistics.estimate import Series, autocorrelation_time, median
from dbdyno.model.plan import Plan

SAMPLES_MIN = 30
CHANGE_MIN = 0.05
_SECONDS_MIN = 3
_LONGEST_S = 1.5
_TRIMMED = 0.15
# Andrews, Econometrica 61, 1993 (corrected in 71, 2003): the largest Wald statistic of a change in
# one parameter, outer 15 % of the places left out, exceeded by chance once in 100.
_WALD_LIMIT = 12.16


class Shift(Struct, frozen=True):
    """The series is at ``before`` up to sample ``place``, then at ``after``."""

    place: int
    before: float
    after: float

    @property
    def relative(self) -> float:
        """The change as a share of the level before."""
        return self.after / self.before - 1 if self.before else float("inf")


def find_shift(series: Series) -> Shift | None:
    """Find a change of level that chance alone rarely produces.

    Chance alone does so in one of 100 steady runs with independent samples, and in about one of 25
    with autocorrelated ones (φ = 0.5 over a minute), as the tests count.

    W(k) = (m₂ − m₁)² / (v·τ·(1/k + 1/(n − k))) for each place k, where v and τ are the variance and
    the autocorrelation time around the two levels; a shift if the largest W exceeds Andrews' limit.
    """
    if len(series) < SAMPLES_MIN:
        return None
    shift, spread = _best_split(series)
    levels = np.where(np.arange(len(series)) < shift.place, shift.before, shift.after)
    rest = series - levels
    noise = float(rest.var(ddof=2)) * autocorrelation_time(rest, means=2) * spread
    difference = (shift.after - shift.before) ** 2
    return shift if difference > _WALD_LIMIT * noise else None


def unasked_shift(plan: Plan, tps: Series) -> Shift | None:
    """A change of throughput by 5 % or more that the plan did not ask for.

    In stages the level is meant to change, and in an open loop it follows the schedule.
    """
    shift = find_shift(tps) if is_constant_load(plan) else None
    return shift if shift is not None and abs(shift.relative) >= CHANGE_MIN else None


def _best_split(series: Series) -> tuple[Shift, float]:
    """The split that explains most of the variance, and its 1/k + 1/(n − k)."""
    samples = len(series)
    first = max(int(samples * _TRIMMED), 2)
    places = np.arange(first, samples - first + 1)
    sums = np.cumsum(series)
    before = sums[places - 1] / places
    after = (sums[-1] - sums[places - 1]) / (samples - places)
    spread = 1 / places + 1 / (samples - places)
    best = int(np.argmax((after - before) ** 2 / spread))
    shift = Shift(int(places[best]), float(before[best]), float(after[best]))
    return shift, float(spread[best])


def jitter(over_time: Timeline) -> float | None:
    """The coefficient of variation of 1 s samples.

    None for fewer than three samples, and for intervals over one second.
    """
    samples = seconds_of(over_time)
    if samples is None or len(samples) < _SECONDS_MIN or not samples.mean():
        return None
    return float(samples.std(ddof=1) / samples.mean())


def seconds_of(over_time: Timeline) -> Series | None:
    """Transactions per second in each second that was measured whole."""
    whole = over_time.whole_intervals()
    measured = whole.phase == "measure"
    lengths_s, tps = whole.seconds[measured], whole.tps[measured]
    if not len(tps) or median(lengths_s) > _LONGEST_S:
        return None
    together = max(round(1 / median(lengths_s)), 1)
    kept = len(tps) // together * together
    seconds: Series = tps[:kept].reshape(-1, together).mean(axis=1)
    return seconds
