"""Tables of an answer: each column is a heading with what it shows of a row.

Most have a row for each point. Its first columns name the point, by the factors in which the points
of the table differ.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from msgspec.structs import replace

from dbdyno.answers.answer import TableOf, Trial, Trials
from dbdyno.answers.grouping import Point, by_point, title_of, varied
from dbdyno.formatting import NOTHING

Row = TypeVar("Row")
Columns: TypeAlias = Mapping[str, Callable[[Row], str]]
"""Headings, and the text that each column has for a row."""


class Points:
    """The points of some runs; ``factors`` name them, by default those in which they differ."""

    def __init__(
        self, trials: Trials, among: Sequence[Trial], factors: Sequence[str] | None = None
    ) -> None:
        self.runs = by_point(among)
        self._factors = varied(trials, among) if factors is None else factors
        self._titles = [title_of(trials, factor) for factor in self._factors]

    def label(self, point: Point) -> str:
        """``operation update, full_page_writes on``."""
        return ", ".join(map(" ".join, zip(self._titles, self._levels(point), strict=True)))

    def table(
        self,
        title: str,
        rows: Mapping[Point, Row],
        columns: Columns[Row],
        *,
        texts: Collection[str] = (),
        note: str = "",
    ) -> TableOf:
        """A row for each point: its levels, then the columns."""
        return self.named(rows, table(title, rows.values(), columns, texts=texts, note=note))

    def named(self, points: Iterable[Point], shown: TableOf) -> TableOf:
        """A table with a row for each of these points, with the columns that name them."""
        return replace(
            shown,
            columns=(*self._titles, *shown.columns),
            rows=[
                (*self._levels(point), *cells)
                for point, cells in zip(points, shown.rows, strict=True)
            ],
            numeric=frozenset(len(self._titles) + place for place in shown.numeric),
        )

    def _levels(self, point: Point) -> list[str]:
        levels = dict(point)
        return [levels.get(factor, NOTHING) for factor in self._factors]


def table(
    title: str,
    rows: Iterable[Row],
    columns: Columns[Row],
    *,
    texts: Collection[str] = (),
    note: str = "",
) -> TableOf:
    """All columns are numbers, except those whose headings are in ``texts``."""
    return TableOf(
        title=title,
        columns=tuple(columns),
        rows=[tuple(show(row) for show in columns.values()) for row in rows],
        numeric=frozenset(at for at, name in enumerate(columns) if name not in texts),
        note=note,
    )


def number_of_runs(runs: Sequence[Trial]) -> str:
    """The column of most tables of points."""
    return str(len(runs))


def or_nothing(value: float | None, format_value: Callable[[float], str]) -> str:
    """A value that may not be known."""
    return NOTHING if value is None else format_value(value)
