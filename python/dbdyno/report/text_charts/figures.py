"""The chart of a figure in characters, whichever kind of chart it is."""

from dbdyno.answers.answer import CurveOf, PartsOf
from dbdyno.report.charts.grid import Grid
from dbdyno.report.content import Figure
from dbdyno.report.text_charts.canvas import Canvas, Glyphs
from dbdyno.report.text_charts.curve_plot import curve_plot
from dbdyno.report.text_charts.heat_plot import heat_plot
from dbdyno.report.text_charts.part_bars import part_bars
from dbdyno.report.text_charts.time_plot import time_plot


def plotted(figure: Figure, width: int, glyphs: Glyphs) -> Canvas | None:
    """The chart in so many columns; nothing for one that characters cannot show."""
    if figure.chart is not None:
        return time_plot(figure.chart, width, glyphs)
    match figure.shows:
        case CurveOf():
            return curve_plot(figure.shows, width, glyphs)
        case PartsOf():
            return part_bars(figure.shows, width, glyphs)
        case Grid():
            return heat_plot(figure.shows, width, glyphs)
        case _:
            return None
