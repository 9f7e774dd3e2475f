"""Charts over time as static drawings: they show and print without a script, in each colour scheme.

The curves are drawn once, in a box without proportions, and each width of page stretches it: only
axes and names are drawn for each. A page's script shows the values under the pointer, and a part
of the time: it needs only another part of the box (``stretched``) and other ticks.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from markupsafe import Markup
from msgspec import Struct

from dbdyno.formatting import milliseconds, seconds, significant
from dbdyno.report.charts.plot import CHARACTER, NARROW, at_each_width, set_apart
from dbdyno.report.charts.scales import Scale, linear_ticks, log_ticks, time_ticks
from dbdyno.report.charts.svg import Drawing
from dbdyno.report.content import LineChart, Mark, Series, Span

# The edges of all drawings over time, so that one looks straight down from an instant to another
# drawing: names of events need more room on the left.
LEFT, LEFT_OF_EVENTS, RIGHT = 62, 80, 58
BOTTOM = 26
_TOP = 12
BOX_WIDTH, BOX_HEIGHT = 4000, 1000
_ROW, _EVENT_HEIGHT = 15, 7
_LINE = 14
_BAND_MIN = 9  # pixels: a name beside a thinner band would point at nothing
_BAR_WIDEST = 6
_LINEAR_MARGIN = 1.06
_STEPS = (1, 2, 5, 10)

Values = Sequence[float | None]


class _Label(Struct, frozen=True):
    """The name of a line beside its end, ``share`` of the plot's height above its bottom."""

    text: str
    colour: str
    share: float
    thickness: float


def time_chart(name: str, chart: LineChart) -> Markup:
    """The curves, and the chart for each width of page; ``name`` is an ID of the page."""
    drawn = _TimeChart(name, chart)
    boxes = Markup('<svg width="0" height="0" aria-hidden="true">{}{}</svg>').format(
        _stretched(drawn.curves, BOX_HEIGHT, drawn.shapes()),
        _stretched(drawn.events, _ROW * len(chart.lanes), drawn.rows()) if chart.lanes else "",
    )
    widths = zip(("wide", "middle", "narrow"), at_each_width(drawn.draw), strict=True)
    return boxes + Markup("").join(
        Markup('<div class="{}">{}</div>').format(width, drawing) for width, drawing in widths
    )


def _stretched(name: str, height: float, shapes: Iterable[Markup]) -> Markup:
    """Shapes in a box that is as wide as the run is long."""
    return Markup(
        '<symbol id="{}" class="stretched" viewBox="0 0 {} {}" preserveAspectRatio="none">{}'
        "</symbol>"
    ).format(name, BOX_WIDTH, height, Markup("").join(shapes))


def heights_of(chart: LineChart) -> list[Values]:
    """The heights of the lines: of stacked ones, each with all that follow below it."""
    if not chart.stacked:
        return [series.values for series in chart.series]
    sums: list[Values] = []
    below: Values = [0.0] * len(chart.x)
    for series in reversed(chart.series):
        below = [
            None if own is None else own + (under or 0.0)
            for own, under in zip(series.values, below, strict=True)
        ]
        sums.insert(0, below)
    return sums


def scale_up(chart: LineChart, heights: Sequence[Values], bottom: float, top: float) -> Scale:
    """The scale of the heights; a logarithmic one begins and ends at 1, 2 or 5 times 10ⁿ."""
    known = [value for values in heights for value in values if value is not None]
    if chart.scale == "linear":
        return Scale(0.0, (max(known, default=0.0) or 1.0) * _LINEAR_MARGIN, bottom, top)
    positive = [value for value in known if value > 0] or [1.0]
    low = max(step for step in _steps(min(positive)) if step <= min(positive) * 1.0001)
    high = min(step for step in _steps(max(positive)) if step >= max(positive) * 0.9999)
    return Scale(low, high if high > low else low * 10, bottom, top, math.log10)


class _TimeChart:
    """A chart with the heights and the scale of its lines, which all widths of page share."""

    def __init__(self, name: str, chart: LineChart) -> None:
        self.chart = chart
        self.curves, self.events = f"{name}-curves", f"{name}-events"

    @cached_property
    def heights(self) -> list[Values]:
        return heights_of(self.chart)

    @cached_property
    def up(self) -> Scale:
        """From the bottom of the box to its top."""
        return scale_up(self.chart, self.heights, BOX_HEIGHT, 0)

    def across(self, begin: float, end: float) -> Scale:
        return Scale(self.chart.begin_s, self.chart.end_s, begin, end)

    def shapes(self) -> Iterator[Markup]:
        """Everything that is stretched: shaded times, below them the events, and the curves."""
        across = self.across(0, BOX_WIDTH)
        for mark in self.chart.marks:
            yield _shaded(across, mark, "ground")
        for lane in self.chart.lanes:
            for span in lane.spans:
                if not span.strong:
                    yield _shaded(across, span, "event-ground")
        x = [round(across(time_s)) for time_s in self.chart.x]
        for series, values in zip(self.chart.series, self.heights, strict=True):
            y = [None if value is None else round(self.up(value)) for value in values]
            yield from _curve(series, x, y, is_area=self.chart.stacked)

    def rows(self) -> Iterator[Markup]:
        """The rows above the plot, one for the events of each kind: a hundred read as well as one.

        What lasted an instant is visible by its stroke.
        """
        across = self.across(0, BOX_WIDTH)
        for row, lane in enumerate(self.chart.lanes):
            top = row * _ROW + (_ROW - _EVENT_HEIGHT) / 2
            for is_strong in (False, True):
                boxes = "".join(
                    f"M{across(span.begin_s):.0f} {top:g}v{_EVENT_HEIGHT}"
                    f"H{across(span.end_s):.0f}v-{_EVENT_HEIGHT}z"
                    for span in lane.spans
                    if span.strong is is_strong
                )
                if boxes:
                    yield Markup('<path class="{}" d="{}"/>').format(
                        "event strong" if is_strong else "event", boxes
                    )

    @cached_property
    def labels(self) -> list[_Label]:
        """Names at the ends of lines, where the eye already is, or beside the ends of bands."""
        ends: list[tuple[Series, float]] = []
        for series, values in zip(self.chart.series, self.heights, strict=True):
            last = next((value for value in reversed(values) if value is not None), None)
            if last is not None:
                ends.append((series, 1 - self.up(last) / BOX_HEIGHT))
        if not self.chart.stacked:
            return [_Label(series.label, series.colour, share, 1.0) for series, share in ends]
        below = [*(share for _, share in ends[1:]), 0.0]
        # The colours of areas are too faint for text.
        return [
            _Label(series.label, "--muted", (share + under) / 2, share - under)
            for (series, share), under in zip(ends, below, strict=True)
        ]

    def draw(self, width: int) -> Markup:
        above = _TOP + _ROW * (len(self.chart.lanes) + bool(self.chart.marks))
        height = round(self.chart.height * (0.8 if width == NARROW else 1))
        drawing = Drawing(width, above + height)
        left, right = (LEFT_OF_EVENTS if self.chart.lanes else LEFT), width - RIGHT
        bottom = above + height - BOTTOM
        across = self.across(left, right)
        up = Scale(self.up.low, self.up.high, bottom, above, self.up.transform)
        self.draw_axes(drawing, across, up)
        drawing.reuse(self.curves, left, above, right - left, bottom - above)
        if self.chart.lanes:
            drawing.reuse(self.events, left, _TOP, right - left, _ROW * len(self.chart.lanes))
        for row, lane in enumerate(self.chart.lanes):
            drawing.text(left - 6, _TOP + _ROW * (row + 0.5) + 4, lane.label, "end", "lane")
        self.draw_mark_names(drawing, across, above - 5)
        plot_height = bottom - above
        shown = [label for label in self.labels if label.thickness * plot_height >= _BAND_MIN]
        places = set_apart([bottom - label.share * plot_height for label in shown], _LINE, bottom)
        for label, y in zip(shown, places, strict=True):
            drawing.text(right + 6, y + 4, label.text, style=f"name {label.colour.strip('-')}")
        return drawing.markup()

    def draw_axes(self, drawing: Drawing, across: Scale, up: Scale) -> None:
        is_log = self.chart.scale == "log"
        write = milliseconds if self.chart.unit == "ms" else significant
        wanted = max(2, round((up.begin - up.end) / 45))
        for tick in log_ticks(up.low, up.high) if is_log else linear_ticks(up.high, wanted):
            drawing.line(across.begin, up(tick), across.end, up(tick), "rule")
            drawing.text(across.begin - 8, up(tick) + 4, write(tick), "end")
        ticks = time_ticks(self.chart.end_s, 3 if drawing.width == NARROW else 8)
        # Of a run that ended in the warm-up, the begin alone.
        for tick in ticks if self.chart.end_s >= 0 else [self.chart.begin_s]:
            drawing.text(across(tick), up.begin + 18, seconds(tick), "middle", "label tick")
        # The script finds the plot by it.
        drawing.rectangle(
            across.begin, up.end, across.end - across.begin, up.begin - up.end, "plot"
        )

    def draw_mark_names(self, drawing: Drawing, across: Scale, y: float) -> None:
        """Above the plot, where no line and no area lies on them; one without room is left out."""
        taken = -math.inf
        for mark in self.chart.marks:
            length = len(mark.label) * CHARACTER
            begin = min(across(mark.begin_s), across.end - length)
            if begin >= taken and across(mark.end_s) > across(mark.begin_s):
                drawing.text(begin, y, mark.label, style="label mark")
                taken = begin + length + 8


def _steps(value: float) -> list[float]:
    """1, 2 and 5 times the power of ten below it, and the next power."""
    power = 10.0 ** math.floor(math.log10(value))
    return [step * power for step in _STEPS]


def _shaded(across: Scale, span: Mark | Span, style: str) -> Markup:
    begin, end = across(span.begin_s), across(span.end_s)
    return Markup('<path class="{}" d="M{:.0f} 0V{}H{:.0f}V0z"/>').format(
        style, begin, BOX_HEIGHT, max(end, begin + 10)
    )


def _curve(
    series: Series, x: Sequence[int], y: Sequence[int | None], *, is_area: bool
) -> Iterator[Markup]:
    colour = Markup(' style="--tone:var({})"').format(series.colour)
    if series.emphasis == "bars":
        bars = "".join(
            f"M{at} {BOX_HEIGHT}V{top}" for at, top in zip(x, y, strict=True) if top is not None
        )
        width = min(_BAR_WIDEST, max(1, 600 // len(x)))
        yield Markup('<path class="series bars" style="--tone:var({});--bar:{}px" d="{}"/>').format(
            series.colour, width, bars
        )
        return
    pieces = list(_pieces(x, y))
    if is_area:
        areas = "".join(
            f"M{piece[0][0]} {BOX_HEIGHT}V{_path(piece)[1:].split(' ', 1)[1]}V{BOX_HEIGHT}z"
            for piece in pieces
        )
        yield Markup('<path class="area"{} d="{}"/>').format(colour, areas)
        return
    lines = "".join(_path(piece) for piece in pieces if len(piece) > 1)
    # A point between gaps has no line to show it: the only one of a short run.
    dots = "".join(f"M{at} {top}h0" for piece in pieces if len(piece) == 1 for at, top in piece)
    if lines:
        style = "series thin" if series.emphasis == "thin" else "series"
        yield Markup('<path class="{}"{} d="{}"/>').format(style, colour, lines)
    if dots:
        yield Markup('<path class="series dots"{} d="{}"/>').format(colour, dots)


def _pieces(x: Sequence[int], y: Sequence[int | None]) -> Iterator[list[tuple[int, int]]]:
    """The stretches between gaps."""
    piece: list[tuple[int, int]] = []
    for at, top in zip(x, y, strict=True):
        if top is not None:
            piece.append((at, top))
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece


def _path(points: Sequence[tuple[int, int]]) -> str:
    """A line as a path in steps, which takes half of the text of one in places."""
    (x, y), *others = points
    parts = [f"M{x} {y}l"]
    for next_x, next_y in others:
        parts.append(f"{next_x - x} {next_y - y} ")
        x, y = next_x, next_y
    return "".join(parts).rstrip(" l")
