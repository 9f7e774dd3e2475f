"""The metrics by which runs are compared: one home for their ids.

Throughput, what COPY moved, response times, what events cost, and costs per transaction. Costs of
single scripts are not included: they are parts of these.

The samples of a metric are those of all runs of two variants, on the scale on which it is compared.
"""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbdyno.analysis.costs.cost_amounts import COST_IDS
from dbdyno.analysis.statistics.effect import Effect, paired_effect, unpaired_effect
from dbdyno.analysis.statistics.estimate import Series
from dbdyno.model.comparison import Metric
from dbdyno.model.record import FailoverRecord, RunRecord

THROUGHPUT = "throughput_tps"
RATES = {
    "nopm": ("New orders", "NOPM"),
    "mqth": ("Qualified transactions", "MQTh"),
    "queries_per_hour": ("Queries", "queries/h"),
}
"""What workloads are known for: the title and the unit, by the record's field."""
RESPONSES = {
    "response_mean_ms": ("mean", "Mean response time"),
    "response_p50_ms": ("p50", "Median response time"),
    "response_p95_ms": ("p95", "95th percentile of response times"),
    "response_p99_ms": ("p99", "99th percentile of response times"),
}
COPIES = {
    "copy_in_rows_per_s": ("copy_in", "rows_per_s", "Rows copied to the server", "rows/s"),
    "copy_in_bytes_per_s": ("copy_in", "bytes_per_s", "Bytes copied to the server", "B/s"),
    "copy_out_rows_per_s": ("copy_out", "rows_per_s", "Rows copied from the server", "rows/s"),
    "copy_out_bytes_per_s": ("copy_out", "bytes_per_s", "Bytes copied from the server", "B/s"),
}

FAILOVERS: Mapping[str, tuple[str, str, Callable[[FailoverRecord], float | None]]] = {
    "failover_first_error_ms": ("First error after an event", "ms", lambda of: of.first_error_ms),
    "failover_first_commit_ms": (
        "First commit after an event",
        "ms",
        lambda of: of.first_commit_ms,
    ),
    "failover_longest_pause_ms": (
        "Longest time without a commit after an event",
        "ms",
        lambda of: of.longest_pause_ms,
    ),
    "failover_level_90_ms": (
        "90 % of the throughput again after an event",
        "ms",
        lambda of: of.level_90_ms,
    ),
    "failover_failed": (
        "Transactions that an event made fail",
        "transactions",
        lambda of: sum(of.failed_by_class.values()),
    ),
    "failover_unknown": (
        "Transactions that an event left unknown",
        "transactions",
        lambda of: of.unknown,
    ),
    "failover_lost": ("Acknowledged commits that an event lost", "commits", lambda of: of.lost),
}
"""What events (``--event``) cost: the title, the unit, and its number of one event."""

KNOWN = (THROUGHPUT, *RATES, *COPIES, *RESPONSES, *FAILOVERS, *sorted(COST_IDS))
"""Every id; a run has those that its server and its telemetry reported."""

USUAL = (THROUGHPUT, *COPIES, "response_p95_ms", "response_p99_ms", "server_cpu_us", "wal_bytes")
"""Compared by default. Few, because each further metric makes all harder to distinguish (Holm)."""


def metrics_of(record: RunRecord) -> dict[str, Metric]:
    """Every metric that was measured in this run, by its id."""
    found = []
    if tps := record.throughput_tps:
        throughput = Metric(
            id=THROUGHPUT,
            title="Throughput",
            unit="TPS",
            better="higher",
            value=tps.value,
            low=tps.low,
            high=tps.high,
        )
        found.append(throughput)
    for name, (title, unit) in RATES.items():
        if rate := getattr(record, name):
            of_workload = Metric(
                id=name,
                title=title,
                unit=unit,
                better="higher",
                value=rate.value,
                low=rate.low,
                high=rate.high,
            )
            found.append(of_workload)
    for name, (direction, field, title, unit) in COPIES.items():
        if copied := getattr(record, direction):
            value: float = getattr(copied, field)
            found.append(Metric(id=name, title=title, unit=unit, better="higher", value=value))
    for name, (field, title) in RESPONSES.items() if record.response_ms else ():
        if (ms := getattr(record.response_ms, field)) is not None:
            found.append(Metric(id=name, title=title, unit="ms", better="lower", value=ms))
    for name, (title, unit, number_of) in FAILOVERS.items() if record.failovers else ():
        numbers = [number_of(one) for one in record.failovers]
        known = [number for number in numbers if number is not None]
        if len(known) == len(numbers):  # without those that never came it would look shorter
            mean = sum(known) / len(known)
            found.append(Metric(id=name, title=title, unit=unit, better="lower", value=mean))
    return {metric.id: metric for metric in (*found, *_costs(record))}


def is_cost(name: str) -> bool:
    """Whether a metric is a cost per transaction, which hardly varies with noise."""
    return name not in (THROUGHPUT, *RATES, *COPIES, *RESPONSES, *FAILOVERS)


def single_run_decides(name: str) -> bool:
    """Whether a metric is a cost that only the work determines, so that one run is enough.

    The number of context switches depends on whatever else wants a CPU: it varies between runs far
    more than within one.
    """
    return is_cost(name) and not name.endswith("voluntary_switches")


def _costs(record: RunRecord) -> Iterator[Metric]:
    """Every cost is better when it is lower: each is per transaction."""
    for cost in record.costs:
        if cost.script:
            continue
        whose = " of the client" if cost.side == "client" and "Engine" not in cost.title else ""
        yield Metric(
            id=cost.id,
            title=f"{cost.title}{whose}",
            unit=f"{cost.unit} per transaction".strip(),
            better="lower",
            value=cost.value,
            low=cost.low,
            high=cost.high,
        )


Runs = Sequence[Mapping[str, Metric]]
Cell: TypeAlias = tuple[int, Hashable]
"""The block of a pair, and its levels of the factors that vary within a block."""
Levels = TypeVar("Levels", bound=Hashable)
_Value = TypeVar("_Value")


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

    def effect(self) -> Effect:
        """The effect between the runs, of pairs or of two sets; not for a single run of each."""
        before, after = self.on_scale()
        return paired_effect(after - before) if self.paired else unpaired_effect(before, after)

    def on_scale(self) -> tuple[Series, Series]:
        """Logarithms; without a ratio, shares of the overall mean."""
        before, after = _values(self.before), _values(self.after)
        if self.has_ratio:
            return np.log(before), np.log(after)
        level = _mean(np.concatenate([before, after])) or 1.0
        return before / level, after / level


def samples_of(
    name: str, before: Runs, after: Runs, *, paired: bool, cells: Sequence[Cell] = ()
) -> MetricSamples | None:
    """The runs that have the metric, or the pairs in which both do; None if there are none.

    With ``cells``, one for each pair, the mean of a block's pairs is one pair.
    """
    if paired:
        of_block: dict[int, dict[Hashable, tuple[Metric, Metric]]] = {}
        each_its_own = [(place, None) for place in range(len(before))]
        pairs = zip(before, after, cells or each_its_own, strict=True)
        for one, other, (block, levels) in pairs:
            if name in one and name in other:
                of_block.setdefault(block, {})[levels] = one[name], other[name]
        whole = like_blocks(of_block)
        sides = (
            tuple(_mean_metric([one for one, _ in of]) for of in whole),
            tuple(_mean_metric([other for _, other in of]) for of in whole),
        )
    else:
        sides = _having(name, before), _having(name, after)
    return MetricSamples(*sides, paired) if all(sides) else None


def like_blocks(blocks: Mapping[int, Mapping[Levels, _Value]]) -> list[list[_Value]]:
    """All blocks at the levels that all have, or only the blocks that have all levels.

    A block without one of the levels would differ from the others by that level's ratio, not by
    chance. The alternative that keeps more values is taken, if it keeps two blocks.
    """
    every = dict.fromkeys(levels for of in blocks.values() for levels in of)
    common = [levels for levels in every if all(levels in of for of in blocks.values())]
    whole = [list(of.values()) for of in blocks.values() if len(of) == len(every)]
    cut = [[of[levels] for levels in common] for of in blocks.values()] if common else []
    return max(cut, whole, key=lambda kept: (len(kept) > 1, sum(map(len, kept))))


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
