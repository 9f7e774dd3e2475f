"""Which costs of a transaction are at a different level in some runs than in others.

The cost of a transaction hardly varies with noise, so a cost that moved together with throughput
shows where to look for the reason, though it need not be the reason.
"""

import math

import numpy as np

from dbdyno.analysis.effect import Effect, holm, paired_effect, unpaired_effect
from dbdyno.analysis.metric_samples import MetricSamples, Runs, samples_of
from dbdyno.analysis.metrics import is_cost
from dbdyno.analysis.verdicts import ALPHA
from dbdyno.model.comparison import MovedCost

CHANGE_MIN = 0.01
_RUNS_MIN = 2


def moved_costs(before: Runs, after: Runs, *, paired: bool = False) -> list[MovedCost]:
    """Costs that differ by more than chance (Holm over all of them), the largest change first.

    A change below 1 % is ignored, however significant. ``paired`` as in ``compare``.
    """
    names = dict.fromkeys(name for run in (*before, *after) for name in run if is_cost(name))
    samples = [samples_of(name, before, after, paired=paired) for name in names]
    tested = [(one, _effect(one)) for one in samples if one and _is_known(one)]
    adjusted = holm([effect.p or 0.0 for _, effect in tested])
    moved = [
        _moved(one, effect)
        for (one, effect), p in zip(tested, adjusted, strict=True)
        if p < ALPHA and abs(math.expm1(effect.value)) >= CHANGE_MIN
    ]
    return sorted(moved, key=lambda one: -abs(math.log(one.ratio)))


def _is_known(of: MetricSamples) -> bool:
    return of.has_ratio and of.repeats >= _RUNS_MIN


def _effect(of: MetricSamples) -> Effect:
    before, after = of.on_scale()
    return paired_effect(after - before) if of.paired else unpaired_effect(before, after)


def _moved(of: MetricSamples, effect: Effect) -> MovedCost:
    ratio, low, high = np.exp([effect.value, effect.low, effect.high]).tolist()
    return MovedCost(id=of.metric.id, title=of.metric.title, ratio=ratio, low=low, high=high)
