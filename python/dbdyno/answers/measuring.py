"""Numbers of a run (a metric, a cost, a counter of the server), and their means over runs.

The run is the unit: intervals are over runs, with one value from each.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np

from dbdyno.analysis.compare.metrics import metrics_of
from dbdyno.analysis.costs.costs import cost
from dbdyno.analysis.series.readings import total
from dbdyno.analysis.statistics.effect import paired_ratio
from dbdyno.analysis.statistics.estimate import Ratio
from dbdyno.answers.answer import Trial
from dbdyno.model.counters import Counter, PgUserTables

Number: TypeAlias = Callable[[Trial], float | None]


def metric_of(name: str) -> Number:
    """A function that returns the metric of a run; None if it was not measured."""

    def number(trial: Trial) -> float | None:
        found = metrics_of(trial.record).get(name)
        return found.value if found else None

    return number


def metric_title(among: Sequence[Trial], name: str) -> str:
    """The title of a metric, with its unit."""
    for trial in among:
        found = metrics_of(trial.record).get(name)
        if found:
            return f"{found.title}, {found.unit}" if found.unit else found.title
    return name


def cost_of(wanted: str) -> Number:
    """The cost of a transaction by its id, as in the run's record."""
    return lambda trial: cost(trial.record.costs, wanted)


def throughput(trial: Trial) -> float | None:
    """Transactions per second."""
    return trial.record.throughput_tps.value if trial.record.throughput_tps else None


def p95_ms(trial: Trial) -> float | None:
    """The 95th percentile of response times."""
    return trial.record.response_ms.p95 if trial.record.response_ms else None


def over_runs(among: Iterable[Trial], number: Number) -> Ratio | None:
    """The geometric mean of a number over runs with its interval; None if no run has it."""
    known = [(1.0, value) for value in map(number, among) if value]
    return paired_ratio(known) if known else None


def mean_of(among: Iterable[Trial], number: Number) -> float | None:
    """The arithmetic mean, for numbers that may be 0."""
    known = [value for value in map(number, among) if value is not None]
    return sum(known) / len(known) if known else None


def ratio_of(of: Iterable[tuple[Trial, Trial]], number: Number) -> Ratio | None:
    """Factor by which a number changed; None if it is unknown, or 0, in every pair."""
    both = [(number(before), number(after)) for before, after in of]
    known = [(before, after) for before, after in both if before and after]
    return paired_ratio(known) if known else None


def slope_of(among: Iterable[Trial], number: Number, over: Number) -> Ratio | None:
    """By how much a number grows for each 1 of another, by a line through the runs of each block.

    None if in no block it grows.
    """
    blocks: dict[int, list[tuple[float, float]]] = {}
    for trial in among:
        x, y = over(trial), number(trial)
        if x is not None and y is not None:
            blocks.setdefault(trial.block, []).append((x, y))
    lines = (np.array(of).T for of in blocks.values() if len({x for x, _ in of}) > 1)
    slopes = [float(np.cov(x, y)[0, 1] / x.var(ddof=1)) for x, y in lines]
    growing = [(1.0, slope) for slope in slopes if slope > 0]
    return paired_ratio(growing) if growing else None


def counted(among: Iterable[Trial], counter: Counter) -> float:
    """A counter of all tables, summed over the measured parts of all these runs."""
    return sum(total(trial.run, counter) or 0.0 for trial in among)


def hot_share(among: Iterable[Trial]) -> float | None:
    """Share of all updates; None if none was counted, as on servers without HOT updates."""
    runs = list(among)
    updates = counted(runs, PgUserTables.n_tup_upd)
    return counted(runs, PgUserTables.n_tup_hot_upd) / updates if updates else None
