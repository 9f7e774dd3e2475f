"""One number against another as a static chart: points, intervals, fitted lines.

A line's name is at its end on a wide page and below the plot on a narrow one. The text of the chart
is the curve's own summary.
"""

from functools import partial
from itertools import count
from typing import NamedTuple

from markupsafe import Markup

from dbdyno.answers.answer import CurveOf, CurveSeries
from dbdyno.formatting import NOTHING, significant
from dbdyno.report.charts.plot import (
    BOTTOM,
    CHARACTER,
    LEFT,
    LINE,
    NARROW,
    TICK_GAP,
    TITLE_Y,
    TOP,
    Frame,
    at_each_width,
    draw_axes,
    left_of,
    level_ticks,
    scale_of,
    set_apart,
    ticks_of,
)
from dbdyno.report.charts.scales import Scale
from dbdyno.report.charts.svg import Drawing
from dbdyno.report.content import Figure, Table

COLOURS = ("blue", "amber", "teal", "red", "grey")
_HEIGHT, _HEIGHT_NARROW = 320, 280
_NAMES_MAX = 0.26  # of the width
_CAP = 3.5
_RADIUS = 3.5
_SIDE_STEP = 5.0


def curve_figure(curve: CurveOf, name: str) -> Figure:
    """The figure with its data as a table; ``name`` is its id on the page."""
    return Figure(
        id=name,
        caption=_caption(curve),
        summary=f"{curve.title}. {curve.summary}",
        table=curve_table(curve),
        svg=at_each_width(partial(_draw, curve)),
        shows=curve,
    )


def colour_of(curve: CurveOf, series: CurveSeries) -> str:
    """One colour per line; a fitted line has that of the points before it."""
    measured = curve.measured
    if not series.fitted:
        return COLOURS[measured.index(series) % len(COLOURS)]
    before = [one for one in curve.series[: list(curve.series).index(series)] if not one.fitted]
    return COLOURS[max(len(before) - 1, 0) % len(COLOURS)]


def _caption(curve: CurveOf) -> str:
    axes = [name for name, axis in (("x", curve.x_axis), ("y", curve.y_axis)) if axis == "log"]
    sentences = [
        f"Logarithmic {' and '.join(axes)} {'axes' if axes[1:] else 'axis'}." if axes else ""
    ]
    if barred := [one for one in curve.measured if one.has_intervals]:
        ends = (end for one in barred for pair in one.intervals for end in pair)
        gaps = ", where there are enough runs for a useful one" if None in ends else ""
        sentences.append(
            f"Points: geometric means over runs; bars: 95 % intervals between runs{gaps}."
        )
    if any(one.fitted for one in curve.series):
        sentences.append("Dashed lines were not measured.")
    return " ".join(filter(None, sentences))


def curve_table(curve: CurveOf) -> Table:
    """One row for each x at which any line has a point."""
    measured = curve.measured
    places = sorted({x for one in measured for x in one.x})
    columns = (curve.x_title, *(head for one in measured for head in _heads(one)))
    return Table(
        caption=curve.title,
        columns=columns,
        rows=[
            (significant(x), *(cell for one in measured for cell in _cells(one, x))) for x in places
        ],
        numeric=frozenset(range(len(columns))),
    )


def _heads(series: CurveSeries) -> tuple[str, ...]:
    interval = [f"{series.label}, 95 % interval"] if series.has_intervals else []
    return (series.label, *interval)


def _cells(series: CurveSeries, x: float) -> tuple[str, ...]:
    """As many as there are heads."""
    if x not in series.x:
        return (NOTHING,) * len(_heads(series))
    place = list(series.x).index(x)
    value = significant(series.y[place])
    if not series.has_intervals:
        return (value,)
    low, high = series.low[place], series.high[place]
    if low is None or high is None:
        return value, NOTHING
    return value, f"{significant(low)} to {significant(high)}"


def _draw(curve: CurveOf, width: int) -> Markup:
    is_wide = width != NARROW
    longest = max(len(one.label) for one in curve.series)
    names = min(longest * CHARACTER + 18, _NAMES_MAX * width) + _side(curve)
    y_ticks = ticks_of(scale_up(curve, 1.0, 0.0), is_log=curve.y_axis == "log")
    # It reaches the marks: one beyond it would stand at its end, at another number.
    xs = [*(x for one in curve.series for x in one.x), *(x for x, _ in curve.marks)]
    right = width - (names if is_wide else 14)
    across = scale_of(xs, left_of(y_ticks), right, is_log=curve.x_axis == "log")
    marks, above = _placed_marks(curve, across, width)
    height = (_HEIGHT if is_wide else _HEIGHT_NARROW) + above
    below = 0 if is_wide else LINE * len(curve.series)
    drawing = Drawing(width, height + below)
    frame = Frame(across, scale_up(curve, height - BOTTOM, TOP + above))
    # The measured levels, and round values where lines are extrapolated beyond them.
    is_log = curve.x_axis == "log"
    levels = [x for one in curve.measured for x in one.x]
    beyond = [x for x in ticks_of(frame.across, is_log=is_log) if x > max(levels)] if is_log else []
    draw_axes(
        drawing,
        frame,
        level_ticks([*levels, *beyond], frame.across, is_log=is_log),
        y_ticks,
        titles=(curve.x_title, curve.y_title),
    )
    for mark in marks:
        ends = [(mark.place, frame.up.begin), (mark.place, mark.y + 4)]
        drawing.path(ends, "curve dashed grey")
    for mark in marks:
        drawing.text(mark.middle, mark.y, mark.text, "middle", "halo")
    for series in curve.series:
        shift = _shift(curve, series)
        _draw_series(drawing, series, colour_of(curve, series), frame, shift)
    if is_wide:
        _name_at_ends(drawing, curve, frame, width)
    else:
        _name_below(drawing, curve, height + 4)
    return drawing.markup()


def scale_up(curve: CurveOf, bottom: float, top: float) -> Scale:
    """The scale of the values, which has room for their intervals."""
    ends = [end for one in curve.measured for pair in one.intervals for end in pair if end]
    ys = [*(y for one in curve.series for y in one.y), *ends]
    return scale_of(ys, bottom, top, is_log=curve.y_axis == "log")


class _Mark(NamedTuple):
    """A vertical line with its words above the plot, where they hide no data."""

    place: float
    text: str
    middle: float
    y: float


def _placed_marks(curve: CurveOf, across: Scale, width: int) -> tuple[list[_Mark], int]:
    """Each on the first line where it touches neither another nor the title; and the added room."""
    taken = [(0.0, len(curve.y_title) * CHARACTER, 0)]
    marks = []
    for x, text in sorted(curve.marks):
        half = (len(text) * CHARACTER + TICK_GAP) / 2
        middle = min(max(across(x), half), width - half)
        left, right = middle - half, middle + half
        row = next(
            row
            for row in count()
            if not any(left < end and begin < right for begin, end, at in taken if at == row)
        )
        taken.append((left, right, row))
        marks.append(_Mark(across(x), text, middle, TITLE_Y + row * LINE))
    return marks, LINE * max(row for *_, row in taken)


def _shift(curve: CurveOf, series: CurveSeries) -> float:
    """Beside each other, the intervals of several lines at one x remain distinguishable."""
    barred = [one.label for one in curve.measured if one.has_intervals]
    if series.label not in barred:
        return 0.0
    return (barred.index(series.label) - (len(barred) - 1) / 2) * _SIDE_STEP


def _side(curve: CurveOf) -> float:
    """How far the rightmost points are moved: names begin after them."""
    return max(_shift(curve, one) for one in curve.series)


def _draw_series(
    drawing: Drawing, series: CurveSeries, colour: str, frame: Frame, shift: float
) -> None:
    places = [frame.across(x) + shift for x in series.x]
    points = [(x, frame.up(y)) for x, y in zip(places, series.y, strict=True)]
    drawing.path(points, f"curve {'dashed ' if series.fitted else ''}{colour}")
    if series.fitted:
        return
    for (x, y), (low, high) in zip(points, series.intervals, strict=True):
        if low is not None and high is not None:
            ends = frame.up(low), frame.up(high)
            drawing.line(x, ends[0], x, ends[1], f"interval {colour}")
            for end in ends:
                drawing.line(x - _CAP, end, x + _CAP, end, f"interval {colour}")
        drawing.dot(x, y, _RADIUS, f"point {colour}")


def _name_at_ends(drawing: Drawing, curve: CurveOf, frame: Frame, width: int) -> None:
    ends = [frame.up(one.y[-1]) for one in curve.series]
    places = set_apart(ends, LINE, frame.up.begin)
    room = int((_NAMES_MAX * width - 18) / CHARACTER)
    left = frame.across.end + _side(curve) + 10
    for series, place in zip(curve.series, places, strict=True):
        label = _shortened(series.label, room)
        style = f"name {colour_of(curve, series)}"
        drawing.text(left, place + 4, label, "start", style, title=series.label)


def _name_below(drawing: Drawing, curve: CurveOf, top: float) -> None:
    for rank, series in enumerate(curve.series):
        colour, y = colour_of(curve, series), top + rank * LINE
        dashes = "dashed " if series.fitted else ""
        drawing.path([(LEFT - 40, y), (LEFT - 14, y)], f"curve {dashes}{colour}")
        drawing.text(LEFT - 6, y + 4, _shortened(series.label, 42), "start", f"name {colour}")


def _shortened(label: str, room: int) -> str:
    return label if len(label) <= room else label[: room - 1] + "…"
