"""Studies of size: measurements against the rows of a table, and text for numbers of rows.

A level of the factor of rows is its number; the loading times are in the study's record, by point,
and many points share one load.
"""

from collections.abc import Sequence
from typing import TypeAlias

from dbdyno.analysis.statistics.effect import paired_ratio
from dbdyno.analysis.statistics.estimate import Ratio
from dbdyno.answers.answer import Trial, Trials
from dbdyno.formatting import count, significant
from dbdyno.model.study import DataLoad

Measured: TypeAlias = list[tuple[float, float]]
"""Rows and value of each measurement."""

_UNITS = ((1e9, "billion"), (1e6, "million"))


def rows_of(trial: Trial, over: str) -> float:
    """The rows of the table that a trial ran on."""
    return float(trial.point[over])


def loads(trials: Trials, over: str) -> dict[float, DataLoad]:
    """The loads by rows, the fewest first."""
    by_rows = {
        float(point.levels[over]): trials.study.loads[point.key]
        for point in trials.study.points
        if point.key in trials.study.loads
    }
    return dict(sorted(by_rows.items()))


def phase_times(found: dict[float, DataLoad], phases: Sequence[str]) -> Measured:
    """Seconds that these phases of each load took together."""
    sums = (
        (rows, sum(load.phases_s.get(each, 0.0) for each in phases)) for rows, load in found.items()
    )
    return [(rows, took_s) for rows, took_s in sums if took_s]


def means_by_rows(points: Measured) -> dict[float, Ratio]:
    """The geometric mean at each size with its interval, the fewest rows first."""
    values: dict[float, list[tuple[float, float]]] = {}
    for rows, value in sorted(points):
        values.setdefault(rows, []).append((1.0, value))
    return {rows: paired_ratio(pairs) for rows, pairs in values.items()}


def rows_text(rows: float) -> str:
    """``3.1 billion``, ``25 million``, ``10 000``."""
    for unit, name in _UNITS:
        if rows >= unit:
            return f"{significant(rows / unit)} {name}"
    return count(rows)
