"""Table: a metric at each point, as published tables have it.

With one run per point, minimum and maximum are those of the run's measurement intervals, as in
publications of single runs; with several they are over runs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dbdyno.analysis.compare.metrics import THROUGHPUT, metrics_of
from dbdyno.answers.answer import Answer, Answered, TableOf, Trial, Trials
from dbdyno.answers.grouping import chosen
from dbdyno.answers.measuring import metric_of, metric_title, over_runs
from dbdyno.answers.tables import Points, number_of_runs
from dbdyno.formatting import NOTHING, significant


def answer(trials: Trials, options: Mapping[str, Any]) -> Answered:
    """A row for each point, columns for each metric of the study."""
    among = chosen(trials, options.get("at"))
    known = {name for trial in among for name in metrics_of(trial.record)}
    names = [name for name in options.get("metrics", trials.spec.metrics) if name in known]
    if not names:
        return Answered(claims=[], missing="no run has the requested metrics")
    points = Points(trials, among, [factor.name for factor in trials.spec.factors])
    heads = [head for name in names for head in (metric_title(among, name), "min", "max")]
    shown = TableOf(
        title="Mean, minimum and maximum of every point",
        columns=("runs", *heads),
        rows=[
            (number_of_runs(runs), *(cell for name in names for cell in _cells(runs, name)))
            for runs in points.runs.values()
        ],
        numeric=frozenset(range(1 + len(heads))),
        note="The geometric mean over runs, and the lowest and highest run; for the throughput of "
        "a single run, its lowest and highest measurement interval.",
    )
    return Answered(claims=[], shown=[points.named(points.runs, shown)])


def _cells(among: Sequence[Trial], name: str) -> tuple[str, str, str]:
    mean = over_runs(among, metric_of(name))
    if mean is None:
        return NOTHING, NOTHING, NOTHING
    values = [value for value in map(metric_of(name), among) if value is not None]
    low, high = min(values), max(values)
    rate = among[0].record.throughput_tps
    if name == THROUGHPUT and len(among) == 1 and rate and rate.min is not None:
        low, high = rate.min, rate.max or rate.value
    return significant(mean.value), significant(low), significant(high)


ANSWER = Answer(
    id="table",
    title="Every point",
    options={
        "metrics": "ids of metrics; default: those of the study",
        "at": "levels of factors to select runs; default: all runs",
    },
    answer=answer,
)
