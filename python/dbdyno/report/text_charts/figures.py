"""The chart of a figure in characters, whichever kind of chart it is."""

from collections.abc import Callable
from typing import Any

from dbdyno.answers.answer import CurveOf, PartsOf, ScatterOf
from dbdyno.report.charts.grid import Grid
from dbdyno.report.charts.icicle import Icicle
from dbdyno.report.content import Figure, LineChart
from dbdyno.report.text_charts.canvas import Canvas, Glyphs
from dbdyno.report.text_charts.curve_plot import curve_plot
from dbdyno.report.text_charts.heat_plot import heat_plot
from dbdyno.report.text_charts.icicle_plot import icicle_plot
from dbdyno.report.text_charts.part_bars import part_bars
from dbdyno.report.text_charts.scatter_plot import scatter_plot
from dbdyno.report.text_charts.time_plot import time_plot

_PLOTS: dict[type, Callable[[Any, int, Glyphs], Canvas]] = {
    LineChart: time_plot,
    CurveOf: curve_plot,
    ScatterOf: scatter_plot,
    PartsOf: part_bars,
    Grid: heat_plot,
    Icicle: icicle_plot,
}


def plotted(figure: Figure, width: int, glyphs: Glyphs) -> Canvas | None:
    """The chart in so many columns; nothing for one that characters cannot show."""
    shown = figure.chart or figure.shows
    plot = _PLOTS.get(type(shown))
    return plot(shown, width, glyphs) if plot else None
