"""The same curve of many alike, each in a small plot of its own, all on one scale.

Behind each is the median of all: what stands apart is seen without reading a number.
"""

import math
from collections.abc import Sequence
from functools import partial

from markupsafe import Markup
from msgspec import Struct

from dbdyno.formatting import milliseconds, seconds, significant
from dbdyno.report.charts.plot import MIDDLE, NARROW, at_each_width
from dbdyno.report.charts.scales import Scale
from dbdyno.report.charts.svg import Drawing

_COLUMNS, _COLUMNS_MIDDLE, _COLUMNS_NARROW = 4, 3, 2
_GAP, _LEFT = 14, 52
_NAME, _PLOT, _BELOW = 18, 56, 8
_TIMES = 18

Values = Sequence[float | None]


class Multiple(Struct, frozen=True):
    """One of the curves."""

    name: str
    values: Values
    end: str = ""
    """Why its curve ends before those of the others."""


class Multiples(Struct, frozen=True, kw_only=True):
    """Curves over the same time. ``unit`` says what the values are; those in ms are logarithmic."""

    x: Sequence[float]
    begin_s: float
    end_s: float
    curves: Sequence[Multiple]
    median: Values
    unit: str
    colour: str


def small_multiples(multiples: Multiples) -> tuple[Markup, ...]:
    """The drawing for each width of page."""
    return at_each_width(partial(_draw, multiples))


def _draw(multiples: Multiples, width: int) -> Markup:
    columns = {NARROW: _COLUMNS_NARROW, MIDDLE: _COLUMNS_MIDDLE}.get(width, _COLUMNS)
    columns = min(columns, len(multiples.curves))
    rows = -(-len(multiples.curves) // columns)
    step = _NAME + _PLOT + _BELOW
    drawing = Drawing(width, rows * step + _TIMES)
    cell = (width - _LEFT - _GAP * (columns - 1)) / columns
    low, high, transform = _range(multiples)
    write = milliseconds if multiples.unit == "ms" else significant
    for place, curve in enumerate(multiples.curves):
        row, column = divmod(place, columns)
        left, top = _LEFT + column * (cell + _GAP), row * step + _NAME
        across = Scale(multiples.begin_s, multiples.end_s, left, left + cell)
        up = Scale(low, high, top + _PLOT, top, transform)
        for tick in (low, high):
            drawing.line(left, up(tick), left + cell, up(tick), "rule")
            if not column:
                drawing.text(left - 6, up(tick) + 4, write(tick), "end")
        drawing.text(left, top - 5, curve.name, style="value")
        if curve.end:
            drawing.text(left + cell, top - 5, curve.end, "end", "name red")
        for values, style in (
            (multiples.median, "curve grey dashed"),
            (curve.values, f"curve {multiples.colour}"),
        ):
            for piece in _pieces(multiples.x, values):
                drawing.path([(across(x), up(y)) for x, y in piece], style)
        known = [(x, y) for x, y in zip(multiples.x, curve.values, strict=True) if y is not None]
        if known and (curve.end or len(known) == 1):
            style = "point red" if curve.end else f"point {multiples.colour}"
            drawing.dot(across(known[-1][0]), up(known[-1][1]), 3, style)
        if place >= len(multiples.curves) - columns:
            y = top + _PLOT + 14
            drawing.text(left, y, seconds(multiples.begin_s))
            drawing.text(left + cell, y, seconds(multiples.end_s), "end")
    return drawing.markup()


def _range(multiples: Multiples) -> tuple[float, float, "type[float] | partial[float]"]:
    every = [multiples.median, *(curve.values for curve in multiples.curves)]
    known = [value for values in every for value in values if value is not None]
    if multiples.unit != "ms":
        return 0.0, max(known, default=0.0) or 1.0, float
    positive = [value for value in known if value > 0] or [1.0]
    return min(positive), max(*positive, min(positive) * 1.5), partial(math.log10)


def _pieces(x: Sequence[float], values: Values) -> list[list[tuple[float, float]]]:
    """The stretches between gaps."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for at, value in zip(x, values, strict=True):
        if value is not None:
            pieces[-1].append((at, value))
        elif pieces[-1]:
            pieces.append([])
    return pieces
