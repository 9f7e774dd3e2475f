"""A number of each interval over time as dots, with the spans of events behind them."""

from functools import partial

from markupsafe import Markup

from dbdyno.answers.answer import ScatterOf
from dbdyno.formatting import seconds, significant
from dbdyno.report.charts.curves import COLOURS
from dbdyno.report.charts.plot import (
    BOTTOM,
    NARROW,
    TOP,
    Frame,
    at_each_width,
    draw_axes,
    left_of,
    scale_of,
    ticks_of,
)
from dbdyno.report.charts.scales import Scale, time_ticks
from dbdyno.report.charts.svg import Drawing
from dbdyno.report.content import Figure, Table

_HEIGHT, _HEIGHT_NARROW = 260, 240
_RIGHT = 16
_SPAN_MIN = 1.5  # pixels: keeps a short event visible
_BANDS = ("band", "band second")
_BAND_COLOURS = ("--muted", "--amber")


def scatter_figure(scatter: ScatterOf, name: str) -> Figure:
    """The figure with the events as its table: there is a dot for every second."""
    series = [
        (f"--{colour}", one.label) for one, colour in zip(scatter.series, COLOURS, strict=False)
    ]
    return Figure(
        id=name,
        caption="Each dot is one measurement interval of the run.",
        summary=f"{scatter.title}. {scatter.summary}",
        table=Table(
            caption=f"Events: {scatter.title}",
            columns=("Event", "From", "To"),
            rows=[
                (span.kind, seconds(span.begin_s), seconds(span.end_s)) for span in scatter.spans
            ],
            numeric=frozenset({1, 2}),
        ),
        svg=at_each_width(partial(_draw, scatter)),
        shows=scatter,
        key=[
            *(series if len(series) > 1 else []),
            *zip(_BAND_COLOURS, scatter.kinds, strict=False),
        ],
    )


def _draw(scatter: ScatterOf, width: int) -> Markup:
    height = _HEIGHT_NARROW if width == NARROW else _HEIGHT
    drawing = Drawing(width, height)
    times = [x for one in scatter.series for x in one.x]
    values = [y for one in scatter.series for y in one.y]
    up = scale_of(values, height - BOTTOM, TOP, is_log=False)
    y_ticks = ticks_of(up, is_log=False)
    left = left_of(y_ticks)
    across = Scale(min(times), max(*times, min(times) + 1.0), left, width - _RIGHT)
    frame = Frame(across, up)
    for span in scatter.spans:
        begin, length = across(span.begin_s), across(span.end_s) - across(span.begin_s)
        style = _BANDS[scatter.kinds.index(span.kind) % len(_BANDS)]
        drawing.rectangle(begin, up.end, max(length, _SPAN_MIN), up.begin - up.end, style)
    draw_axes(
        drawing,
        frame,
        [tick for tick in time_ticks(across.high, 8) if tick >= across.low],
        y_ticks,
        titles=("time", scatter.y_title),
        x_format=lambda at: seconds(at) if at else significant(at),
    )
    for series, colour in zip(scatter.series, COLOURS, strict=False):
        for x, y in zip(series.x, series.y, strict=True):
            drawing.dot(frame.across(x), frame.up(y), 1.8, f"point {colour}")
    return drawing.markup()
