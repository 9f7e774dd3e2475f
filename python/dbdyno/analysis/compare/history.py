"""Where the level of a metric changed over runs of one kind, and which costs moved with it.

Otava's method (Fleming et al., *Hunter: Using Change Point Detection to Hunt for Performance
Regressions*, ICPE 2023): E-divisive in windows of thirty runs, so that the distant past does not
hide recent changes; a t-test in place of permutations, so that the same history always has the same
changes; first a lenient limit, because a change beside another looks weak until both are known,
then all changes that do not stand out between their neighbours are dropped, the weakest first. On
logarithms, since a change is a ratio.

Few runs cannot give a change of that significance, and a level takes two of them: what a single
t-test would call a change among the runs since the last one is *suspected*, so that "no change" is
claimed only where nothing looks like one.

Months may lie between runs: runs are not paired, and the effect of an upgrade of the host is found
like any other change.
"""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from dbdyno.analysis.compare.compare import CHANGE_MIN, moved_costs
from dbdyno.analysis.compare.metrics import (
    USUAL,
    Runs,
    metrics_of,
)
from dbdyno.analysis.compare.profile_differences import ProfileDifferences, Sides, compare_profiles
from dbdyno.analysis.statistics.change_points import e_divisive, significant_changes
from dbdyno.analysis.statistics.estimate import Series
from dbdyno.analysis.statistics.probability import student_p
from dbdyno.model.comparison import Metric, MovedCost, ProfileDifference
from dbdyno.model.record import RunRecord

WINDOW_RUNS = 30
_SEGMENT_MIN = 2
_WEAK_P = 0.01
# At Otava's 0.001 one in twenty histories of a hundred runs without a change shows one; at this
# limit one in forty does, and the changes that the tests insert are still found.
_STRONG_P = 0.0003
_SUSPECTED_P = 0.01


class Change(Struct, frozen=True, kw_only=True):
    """The level changes at the run at ``index``; levels are geometric means."""

    index: int
    before: float
    after: float
    ratio: float
    p: float
    moved: tuple[MovedCost, ...]
    """Costs that moved at the same run, the largest change first."""
    server_subsystems: tuple[ProfileDifference, ...] = ()
    """Of the runs with a profile: subsystems of the server that take more or less CPU time."""
    server_functions: tuple[ProfileDifference, ...] = ()
    """The same of its functions."""


class Suspected(Struct, frozen=True, kw_only=True):
    """The level may have changed at the run at ``index``: too few runs to say so."""

    index: int
    before: float
    after: float


class MetricHistory(Struct, frozen=True, kw_only=True):
    """One metric over all runs; None for runs that did not measure it."""

    metric: Metric
    """The metric in the latest run that has it."""
    values: tuple[float | None, ...]
    changes: tuple[Change, ...]
    suspected: Suspected | None = None

    @property
    def latest(self) -> float:
        """Value in the latest run that has it."""
        return self._lately[-1]

    @property
    def before_latest(self) -> list[float]:
        """Values of earlier runs since the last change; the latest run alone is not a level."""
        return self._lately[:-1]

    @property
    def _lately(self) -> list[float]:
        since = self.changes[-1].index if self.changes else 0
        return [value for value in self.values[since:] if value is not None]


def history(
    records: Sequence[RunRecord], metrics: Sequence[str] | None = None
) -> list[MetricHistory]:
    """Histories of the metrics of runs of one kind, the oldest run first.

    A metric that was 0 in a run has no ratio and is left out.
    """
    runs = [metrics_of(record) for record in records]
    found = (_history(name, records, runs) for name in metrics or USUAL)
    return [one for one in found if one is not None]


def _history(name: str, records: Sequence[RunRecord], runs: Runs) -> MetricHistory | None:
    having = [place for place, run in enumerate(runs) if name in run]
    values = np.array([runs[place][name].value for place in having])
    if not having or values.min() <= 0:
        return None
    logarithms = np.log(values)
    bounds = [0, *level_changes(logarithms), len(values)]
    segments = zip(bounds, bounds[1:-1], bounds[2:], strict=False)
    measured = [records[at] for at in having]
    changes = (
        _change(
            name,
            having[place],
            (measured[begin:place], measured[place:end]),
            (logarithms[begin:place], logarithms[place:end]),
        )
        for begin, place, end in segments
    )
    return MetricHistory(
        metric=runs[having[-1]][name],
        values=tuple(run[name].value if name in run else None for run in runs),
        changes=tuple(change for change in changes if abs(change.ratio - 1) >= CHANGE_MIN),
        suspected=_suspected(having, logarithms, bounds[-2]),
    )


def _suspected(having: Sequence[int], logarithms: Series, since: int) -> Suspected | None:
    """The clearest place among the runs since the last change, corrected for their number.

    One run alone may be a side: it is compared with the scatter of the others.
    """
    recent = logarithms[since:]
    if len(recent) < _SEGMENT_MIN + 1:
        return None
    # A t-test of the values before a place and from there on has the smallest p where the squares
    # between both parts are largest: with those within them, they always add up to the same sum.
    counts = np.arange(1, len(recent))
    sums = np.cumsum(recent - recent.mean())[:-1]
    between = sums**2 * len(recent) / (counts * (len(recent) - counts))
    place = 1 + int(between.argmax())
    before, after = float(recent[:place].mean()), float(recent[place:].mean())
    if _t_test(recent[:place], recent[place:]) * (len(recent) - 1) >= _SUSPECTED_P:
        return None
    if abs(math.expm1(after - before)) < CHANGE_MIN:
        return None
    return Suspected(index=having[since + place], before=math.exp(before), after=math.exp(after))


def level_changes(logarithms: Series) -> list[int]:
    """The first element of each new level."""
    starts = range(0, max(len(logarithms) - WINDOW_RUNS // 2, 1), WINDOW_RUNS // 2)
    weak = {
        start + place
        for start in starts
        for place in e_divisive(logarithms[start : start + WINDOW_RUNS], _SEGMENT_MIN, _p, _WEAK_P)
    }
    return significant_changes(logarithms, sorted(weak), _p, _STRONG_P)


def _p(before: Series, after: Series) -> float:
    """The p of Student's t-test with equal variances; 1 if a part is too short to be a level."""
    if min(len(before), len(after)) < _SEGMENT_MIN:
        return 1.0
    return _t_test(before, after)


def _t_test(before: Series, after: Series) -> float:
    freedom = len(before) + len(after) - 2
    squares = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    error = math.sqrt(squares / freedom * (1 / len(before) + 1 / len(after)))
    difference = float(after.mean() - before.mean())
    if not error:
        return 0.0 if difference else 1.0
    return student_p(difference / error, freedom)


def _change(name: str, index: int, sides: Sides, logarithms: tuple[Series, Series]) -> Change:
    before, after = logarithms
    metrics = [[metrics_of(record) for record in side] for side in sides]
    first, second = ([record for record in side if record.server_profile] for side in sides)
    profiles = ProfileDifferences([], [])
    if min(len(first), len(second)) >= _SEGMENT_MIN:
        (profiles,) = compare_profiles([(first, second)], paired=False)
    return Change(
        index=index,
        before=math.exp(before.mean()),
        after=math.exp(after.mean()),
        ratio=math.exp(after.mean() - before.mean()),
        p=_p(before, after),
        moved=tuple(one for one in moved_costs(*metrics) if one.id != name),
        server_subsystems=tuple(one for one in profiles.subsystems if one.has_changed),
        server_functions=tuple(one for one in profiles.functions if one.has_changed),
    )
