"""One metric of all runs of two variants, on the scale on which it is compared."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

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


def samples_of(
    name: str, before: Runs, after: Runs, *, paired: bool, blocks: Sequence[int] = ()
) -> MetricSamples | None:
    """The runs that have the metric, or the pairs in which both do; None if there are none.

    Of ``blocks``, one for each pair, the mean is the pair; blocks that lack a pair which others
    have are left out, because they would differ by more than chance.
    """
    if paired:
        of_block: dict[int, list[tuple[Metric, Metric]]] = {}
        pairs = zip(before, after, blocks or range(len(before)), strict=True)
        for one, other, block in pairs:
            if name in one and name in other:
                of_block.setdefault(block, []).append((one[name], other[name]))
        most = max(map(len, of_block.values()), default=0)
        whole = [both for both in of_block.values() if len(both) == most]
        sides = (
            tuple(_mean_metric([one for one, _ in of]) for of in whole),
            tuple(_mean_metric([other for _, other in of]) for of in whole),
        )
    else:
        sides = _having(name, before), _having(name, after)
    return MetricSamples(*sides, paired) if all(sides) else None


def _mean_metric(metrics: Sequence[Metric]) -> Metric:
    """One metric of several runs; the interval within a run is that of a single one."""
    if len(metrics) == 1:
        return metrics[0]
    values = _values(metrics)
    mean = _geometric_mean(values) if (values > 0).all() else _mean(values)
    return replace(metrics[0], value=mean, low=None, high=None)


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
