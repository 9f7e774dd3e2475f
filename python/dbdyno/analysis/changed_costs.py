"""Which costs of a transaction are at a different level in some runs than in others.

The cost of a transaction hardly varies with noise, so a cost that moved together with throughput
shows where to look for the reason, though it need not be the reason.
"""

import math

import numpy as np
from msgspec import Struct

from dbdyno.analysis.effect import Effect, holm, unpaired_effect
from dbdyno.analysis.metric_samples import MetricSamples, Runs, samples_of
from dbdyno.analysis.metrics import is_cost
from dbdyno.analysis.verdicts import ALPHA

CHANGE_MIN = 0.01
_RUNS_MIN = 2


class Moved(Struct, frozen=True, kw_only=True):
    """A cost whose level changed together with a metric's, with its 95 % interval."""

    id: str
    title: str
    ratio: float
    low: float
    high: float


def moved_costs(before: Runs, after: Runs) -> list[Moved]:
    """Costs that differ by more than chance (Holm over all of them), the largest change first.

    A change below 1 % is ignored, however significant.
    """
    names = dict.fromkeys(name for run in (*before, *after) for name in run if is_cost(name))
    samples = [samples_of(name, before, after, paired=False) for name in names]
    tested = [(one, unpaired_effect(*one.on_scale())) for one in samples if one and _is_known(one)]
    adjusted = holm([effect.p or 0.0 for _, effect in tested])
    moved = [
        _moved(one, effect)
        for (one, effect), p in zip(tested, adjusted, strict=True)
        if p < ALPHA and abs(math.expm1(effect.value)) >= CHANGE_MIN
    ]
    return sorted(moved, key=lambda one: -abs(math.log(one.ratio)))


def _is_known(of: MetricSamples) -> bool:
    return of.has_ratio and of.repeats >= _RUNS_MIN


def _moved(of: MetricSamples, effect: Effect) -> Moved:
    ratio, low, high = np.exp([effect.value, effect.low, effect.high]).tolist()
    return Moved(id=of.metric.id, title=of.metric.title, ratio=ratio, low=low, high=high)
