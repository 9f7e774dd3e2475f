"""Charts over time in characters: columns, lines by their marks, stacked areas by their letters."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from dbdyno.formatting import milliseconds, seconds, significant
from dbdyno.report.charts.plot import set_apart
from dbdyno.report.charts.scales import Scale, linear_ticks, log_ticks, time_ticks
from dbdyno.report.charts.time_chart import heights_of, scale_up
from dbdyno.report.content import LineChart, Series
from dbdyno.report.text_charts.canvas import (
    Area,
    Canvas,
    Glyphs,
    Tick,
    draw_axes,
    draw_column,
    key_lines,
    length_of,
    letters_of,
)

_PIXELS = 26
"""Of a chart's height on a page, for each row."""
_ROWS_MIN = 4
_TICK_ROWS, _TICK_COLUMNS = 2, 14
_UNITS = {"tps": "TPS", "sessions": "clients", "ms": ""}

Values = Sequence[float | None]


def time_plot(chart: LineChart, width: int, glyphs: Glyphs, rows: int | None = None) -> Canvas:
    """The chart in so many columns; its height is that of the page, unless ``rows`` says it."""
    return _TimePlot(chart, width, glyphs, rows or max(chart.height // _PIXELS, _ROWS_MIN)).draw()


class _TimePlot:
    """A chart with the places of its parts."""

    def __init__(self, chart: LineChart, width: int, glyphs: Glyphs, rows: int) -> None:
        self.chart, self.glyphs = chart, glyphs
        self.heights = heights_of(chart)
        self.up = scale_up(chart, self.heights, 0, 1)
        write = milliseconds if chart.unit == "ms" else significant
        is_log = chart.scale == "log"
        wanted = max(2, rows // _TICK_ROWS)
        values = (
            log_ticks(self.up.low, self.up.high) if is_log else linear_ticks(self.up.high, wanted)
        )
        words = [write(value) for value in values]
        names = [lane.label for lane in chart.lanes]
        left = max(map(length_of, [*words, *names, _UNITS[chart.unit]])) + 2
        self.is_lines = len(chart.series) > 1 and not chart.stacked
        labels = max((length_of(one.label) for one in chart.series), default=0)
        right = labels + 3 if self.is_lines else 0
        above = 1 + len(chart.lanes)
        self.area = Area(above, left, rows, max(width - left - right, 1))
        self.ticks = [
            Tick(self.area.row_at(self.up(value)), text)
            for value, text in zip(values, words, strict=True)
        ]
        self.marks = self.glyphs.marks
        if chart.stacked:
            self.marks = "".join(
                reversed(letters_of([one.label for one in reversed(chart.series)]))
            )
        entries = [(mark, one.label) for mark, one in zip(self.marks, chart.series, strict=False)]
        self.key = key_lines([*reversed(entries)], width - left) if chart.stacked else []
        self.canvas = Canvas(width, above + rows + 2 + len(self.key))

    def column_at(self, time_s: float) -> int:
        across = Scale(self.chart.begin_s, self.chart.end_s, 0, 1)
        return self.area.column_at(across(time_s))

    def draw(self) -> Canvas:
        area, chart, canvas = self.area, self.chart, self.canvas
        ticks = time_ticks(chart.end_s, max(2, area.columns // _TICK_COLUMNS))
        across = [
            Tick(self.column_at(time_s), seconds(time_s))
            for time_s in (ticks if chart.end_s >= 0 else [chart.begin_s])
        ]
        self.draw_above()
        draw_axes(canvas, area, self.glyphs, self.ticks, across)
        # Of lines on common cells, the one that the chart names first is seen; a stacked area is
        # filled from below, and those below it cover their parts of it.
        places = range(len(chart.series))
        for place in places if chart.stacked else reversed(places):
            self.draw_series(place, chart.series[place])
        if self.is_lines:
            self.draw_names()
        for row, entries in enumerate(self.key, area.top + area.rows + 2):
            column = area.left
            for mark, meaning in entries:
                canvas.put(row, column, mark, self.colour_of(meaning))
                canvas.put(row, column + 2, meaning)
                column += length_of(meaning) + 4
        return canvas

    def colour_of(self, label: str) -> str:
        return next(one.colour for one in self.chart.series if one.label == label)

    def draw_series(self, place: int, series: Series) -> None:
        area, mark = self.area, self.marks[place % len(self.marks)]
        heights = self.in_columns(self.heights[place])
        own = self.in_columns(series.values)
        for column, (height, value) in enumerate(zip(heights, own, strict=True), area.left):
            if height is None or value is None:
                continue
            share = self.up(height)
            if self.is_lines:
                self.canvas.put(area.row_at(share), column, mark, series.colour)
            elif not self.chart.stacked:
                shown = 0.0 if height == 0 else share
                draw_column(
                    self.canvas, area, column, shown, self.glyphs.blocks, colour=series.colour
                )
            elif value > 0:
                for row in range(round(share * area.rows)):
                    self.canvas.put(area.top + area.rows - 1 - row, column, mark, series.colour)

    def in_columns(self, values: Values) -> list[float | None]:
        """The values of each column: of several the mean, of response times the longest.

        A column between two points has the value of the nearer.
        """
        chart, count = self.chart, self.area.columns
        step = (chart.end_s - chart.begin_s) / count
        ends = [bisect_left(chart.x, chart.begin_s + step * place) for place in range(count + 1)]
        found: list[float | None] = []
        for place, (first, last) in enumerate(pairwise(ends)):
            middle = chart.begin_s + step * (place + 0.5)
            near = [at for at in (first - 1, first) if 0 <= at < len(chart.x)]
            nearest = min(near, key=lambda at: abs(chart.x[at] - middle), default=0)
            within = values[first:last] or values[nearest : nearest + 1]
            known = [value for value in within if value is not None]
            mean = sum(known) / len(known) if known else None
            found.append(max(known) if known and chart.unit == "ms" else mean)
        return found

    def draw_above(self) -> None:
        """The unit and the stretches of time, then a row for each kind of event."""
        area, glyphs, canvas = self.area, self.glyphs, self.canvas
        unit = _UNITS[self.chart.unit]
        canvas.put(0, area.left - 2 - length_of(unit), unit)
        free = 0
        for mark in self.chart.marks:
            begin, end = self.column_at(mark.begin_s), self.column_at(mark.end_s)
            if begin >= free and mark.end_s > mark.begin_s:
                length = length_of(mark.label)
                begin = min(begin, canvas.width - length)
                canvas.put(0, begin, glyphs.span * (end - begin))
                canvas.put(0, begin, mark.label)
                free = max(begin + length, end) + 1
        for row, lane in enumerate(self.chart.lanes, 1):
            canvas.put(row, area.left - 2 - length_of(lane.label), lane.label)
            for span in sorted(lane.spans, key=lambda span: span.strong):
                begin, end = self.column_at(span.begin_s), self.column_at(span.end_s)
                glyph = glyphs.strong if span.strong else glyphs.span
                canvas.put(row, begin, glyph * max(end - begin, 1), "--events")

    def draw_names(self) -> None:
        """The name of each line at its end, with its mark."""
        area = self.area
        ends: list[tuple[float, int]] = []
        for place, values in enumerate(self.heights):
            last = next((value for value in reversed(values) if value is not None), None)
            if last is not None:
                ends.append((self.up(last), place))
        ends.sort(reverse=True)
        lowest = area.top + area.rows - 1
        rows = set_apart([area.row_at(share) for share, _ in ends], 1, lowest)
        for (_, place), row in zip(ends, rows, strict=True):
            series, mark = self.chart.series[place], self.marks[place % len(self.marks)]
            column = area.left + area.columns + 1
            self.canvas.put(int(row), column, f"{mark} {series.label}", series.colour)
