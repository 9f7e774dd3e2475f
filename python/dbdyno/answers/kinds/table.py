"""Table: a metric at each point, as published tables have it.

With one run per point, minimum and maximum are those of the run's measurement intervals, as in
publications of single runs; with several they are over runs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.analysis.compare.metrics import THROUGHPUT, metrics_of
from dbdyno.answers.answer import Answer, Answered, TableOf, Trial, Trials
from dbdyno.answers.grouping import chosen, over_runs, point_cells, titles_of
from dbdyno.answers.measuring import metric_of, metric_title
from dbdyno.formatting import NOTHING, significant


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A row for each point, columns for each metric of the study."""
    among = chosen(trials, options.get("at"))
    known = {name for trial in among for name in metrics_of(trial.record)}
    names = [name for name in _wanted(trials, options) if name in known]
    if not names:
        return Answered(claims=[], missing="no run has the requested metrics")
    return Answered(claims=[], shown=[_table(trials, among, names)])


def _wanted(trials: Trials, options: Mapping[str, Any]) -> Sequence[str]:
    given: Sequence[str] = options.get("metrics", trials.spec.metrics)
    return given


def _table(trials: Trials, among: Sequence[Trial], names: Sequence[str]) -> TableOf:
    factors = [factor.name for factor in trials.spec.factors]
    heads = [head for name in names for head in (metric_title(among, name), "min", "max")]
    return TableOf(
        title="Mean, minimum and maximum of every point",
        columns=(*titles_of(trials, factors), "runs", *heads),
        rows=[
            (*point_cells(tuple(point.levels.items()), factors), str(len(of)), *_cells(of, names))
            for point in trials.study.points
            if (of := [trial for trial in among if trial.point == point.levels])
        ],
        numeric=frozenset(range(len(factors), len(factors) + 1 + len(heads))),
        note="The geometric mean over runs, and the lowest and highest run; for the throughput of "
        "a single run, its lowest and highest measurement interval.",
    )


def _cells(among: Sequence[Trial], names: Sequence[str]) -> list[str]:
    return [cell for name in names for cell in _three(among, name)]


def _three(among: Sequence[Trial], name: str) -> tuple[str, str, str]:
    mean = over_runs(among, metric_of(name))
    if mean is None:
        return NOTHING, NOTHING, NOTHING
    low, high = _range(among, name)
    return significant(mean.value), significant(low), significant(high)


def _range(among: Sequence[Trial], name: str) -> tuple[float, float]:
    found = among[0].record.throughput_tps
    if name == THROUGHPUT and len(among) == 1 and found and found.min is not None:
        return found.min, found.max or found.value
    values = [value for value in map(metric_of(name), among) if value is not None]
    return min(values), max(values)


ANSWER = Answer(
    id="table",
    title="Every point",
    options={
        "metrics": "ids of metrics; default: those of the study",
        "at": "levels of factors to select runs; default: all runs",
    },
    answer=answer,
)
