"""One number against another in characters: points with their intervals, and fitted lines."""

from collections.abc import Iterator
from itertools import pairwise

from dbdyno.answers.answer import CurveOf, CurveSeries
from dbdyno.formatting import significant
from dbdyno.report.charts.curves import colour_of, scale_up
from dbdyno.report.charts.percentiles import TICKS
from dbdyno.report.charts.plot import CHARACTER, level_ticks, scale_of, ticks_of
from dbdyno.report.charts.scales import Scale, tail_scale
from dbdyno.report.text_charts.canvas import (
    Area,
    Canvas,
    Glyphs,
    Tick,
    cut,
    draw_axes,
    length_of,
)

_ROWS = 12


def curve_plot(curve: CurveOf, width: int, glyphs: Glyphs) -> Canvas:
    """The chart in so many columns: titles, marks, the plot, and below it what its signs mean."""
    return _CurvePlot(curve, width, glyphs).draw()


class _CurvePlot:
    """A chart with its scales and the place of its plot."""

    def __init__(self, curve: CurveOf, width: int, glyphs: Glyphs) -> None:
        self.curve, self.width, self.glyphs = curve, width, glyphs
        self.up = scale_up(curve, 0.0, 1.0)
        ticks = ticks_of(self.up, is_log=curve.y_axis == "log")
        left = max(length_of(significant(value)) for value in ticks) + 2
        self.area = area = Area(1 + len(curve.marks), left, _ROWS, width - left - 2)
        self.up_ticks = [Tick(area.row_at(self.up(value)), significant(value)) for value in ticks]
        self.barred = [one.label for one in curve.measured if one.has_intervals]
        self.margin = len(self.barred) // 2
        # In pixels of a page, of which the choice of ticks knows how many a word needs.
        self.across = self.scale_across((area.columns - 1 - 2 * self.margin) * CHARACTER)

    def scale_across(self, end: float) -> Scale:
        curve = self.curve
        xs = [*(x for one in curve.series for x in one.x), *(x for x, _ in curve.marks)]
        if curve.x_axis == "tail":
            return tail_scale(max(xs), 0.0, end)
        return scale_of(xs, 0.0, end, is_log=curve.x_axis == "log")

    def column_at(self, x: float) -> int:
        return self.area.left + self.margin + round(self.across(x) / CHARACTER)

    def across_ticks(self) -> list[Tick]:
        if self.curve.x_axis == "tail":
            named = [(x, text) for x, text in TICKS.items() if x <= self.across.high]
        else:
            levels = [x for one in self.curve.measured for x in one.x]
            is_log = self.curve.x_axis == "log"
            ticks = level_ticks(levels, self.across, is_log=is_log)
            named = [(x, significant(x)) for x in ticks]
        return [Tick(self.column_at(x), text) for x, text in named]

    def draw(self) -> Canvas:
        area, curve, width = self.area, self.curve, self.width
        key = list(self.key())
        bottom = area.top + area.rows
        canvas = Canvas(width, bottom + 3 + len(key))
        canvas.put(0, 0, cut(curve.y_title, width))
        self.draw_marks(canvas)
        draw_axes(canvas, area, self.glyphs, self.up_ticks, self.across_ticks())
        for series in reversed(curve.series):
            self.draw_series(canvas, series)
        title = cut(curve.x_title, width)
        canvas.put(bottom + 2, max(area.left + (area.columns - length_of(title)) // 2, 0), title)
        for row, (sign, meaning, colour) in enumerate(key, bottom + 3):
            canvas.put(row, area.left, sign, colour)
            canvas.put(row, area.left + 2, cut(meaning, width - area.left - 2))
        return canvas

    def draw_marks(self, canvas: Canvas) -> None:
        """A line down from each, with its words on a row of their own above the plot."""
        for row, (x, text) in enumerate(sorted(self.curve.marks), 1):
            column = self.column_at(x)
            for below in range(row + 1, self.area.top + self.area.rows):
                canvas.put(below, column, self.glyphs.guide)
            words = cut(text, self.width)
            canvas.put(row, max(min(column, self.width - length_of(words)), 0), words)

    def draw_series(self, canvas: Canvas, series: CurveSeries) -> None:
        colour, row_at = colour_of(self.curve, series), self.area.row_at
        sign, shift = self.sign_of(series), self.shift_of(series)
        columns = [self.column_at(x) + shift for x in series.x]
        if series.fitted:
            for (begin, left), (end, right) in pairwise(zip(columns, series.y, strict=True)):
                for column in range(begin, end + 1):
                    share = (column - begin) / max(end - begin, 1)
                    height = self.up(left) + share * (self.up(right) - self.up(left))
                    canvas.put(row_at(height), column, sign, colour)
            return
        for column, (low, high) in zip(columns, series.intervals, strict=True):
            if low is not None and high is not None:
                first, last = row_at(self.up(high)), row_at(self.up(low))
                for row in range(first, last + 1):
                    canvas.put(row, column, self.glyphs.upright, colour)
                canvas.put(first, column, self.glyphs.top, colour)
                canvas.put(last, column, self.glyphs.bottom, colour)
        for column, y in zip(columns, series.y, strict=True):
            canvas.put(row_at(self.up(y)), column, sign, colour)

    def sign_of(self, series: CurveSeries) -> str:
        if series.fitted:
            return self.glyphs.dot
        return self.glyphs.marks[self.curve.measured.index(series) % len(self.glyphs.marks)]

    def shift_of(self, series: CurveSeries) -> int:
        """Beside each other, the intervals of several lines at one x remain distinguishable."""
        is_barred = series.label in self.barred
        return self.barred.index(series.label) - self.margin if is_barred else 0

    def key(self) -> Iterator[tuple[str, str, str]]:
        """Signs with their meanings and colours, where a single line needs no name."""
        series = self.curve.series
        if len(series) > 1:
            for one in series:
                meaning = f"{one.label} (not measured)" if one.fitted else one.label
                yield self.sign_of(one), meaning, colour_of(self.curve, one)
        if any(None not in pair for one in series for pair in one.intervals):
            yield self.glyphs.upright, "95 % interval between runs", ""
