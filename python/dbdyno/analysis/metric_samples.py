"""One metric of all runs of two variants, on the scale on which it is compared."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from dbdyno.analysis.estimate import Series
from dbdyno.model.comparison import Metric

Runs = Sequence[Mapping[str, Metric]]


class MetricSamples(Struct, frozen=True):
    """The metric in the runs of both sides; element by element if they are pairs."""

    before: tuple[Metric, ...]
    after: tuple[Metric, ...]
    paired: bool

    @property
    def metric(self) -> Metric:
        """The metric's definition."""
        return self.before[0]

    @property
    def repeats(self) -> int:
        """Number of pairs, or of runs of the smaller side."""
        return min(len(self.before), len(self.after))

    @property
    def is_single(self) -> bool:
        """Whether neither side shows how runs vary."""
        return (self.repeats if self.paired else max(len(self.before), len(self.after))) < 2

    @property
    def has_ratio(self) -> bool:
        """Whether logarithms exist: not if the metric was 0 in a run."""
        return all(metric.value > 0 for metric in (*self.before, *self.after))

    @property
    def runs_text(self) -> str:
        """How many runs were compared, as text."""
        if self.is_single:
            return "one run of each"
        if self.paired:
            return f"{self.repeats} pairs"
        return f"{len(self.before)} and {len(self.after)} runs"

    def levels(self) -> tuple[float, float]:
        """Typical value of each side: the kind of mean whose ratio is the ratio of the runs."""
        mean = _geometric_mean if self.has_ratio else _mean
        return mean(_values(self.before)), mean(_values(self.after))

    def on_scale(self) -> tuple[Series, Series]:
        """Logarithms; without a ratio, shares of the overall mean."""
        before, after = _values(self.before), _values(self.after)
        if self.has_ratio:
            return np.log(before), np.log(after)
        level = _mean(np.concatenate([before, after])) or 1.0
        return before / level, after / level


def samples_of(name: str, before: Runs, after: Runs, *, paired: bool) -> MetricSamples | None:
    """The runs that have the metric, or the pairs in which both do; None if there are none."""
    if paired:
        pairs = zip(before, after, strict=True)
        both = [(one[name], other[name]) for one, other in pairs if name in one and name in other]
        sides = tuple(one for one, _ in both), tuple(other for _, other in both)
    else:
        sides = _having(name, before), _having(name, after)
    return MetricSamples(*sides, paired) if all(sides) else None


def _having(name: str, runs: Runs) -> tuple[Metric, ...]:
    return tuple(run[name] for run in runs if name in run)


def ratio_of(before: float, after: float) -> float:
    """After / before; infinite if before is 0."""
    if before:
        return after / before
    return math.inf if after else 1.0


def _values(metrics: Sequence[Metric]) -> Series:
    return np.array([metric.value for metric in metrics], dtype=np.float64)


def _geometric_mean(values: Series) -> float:
    return math.exp(float(np.log(values).mean()))


def _mean(values: Series) -> float:
    return float(values.mean())
