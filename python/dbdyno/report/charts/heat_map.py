"""A heat map: shares by height, interval by interval, as an image under labelled axes."""

import math

import numpy as np
from markupsafe import Markup

from dbdyno.formatting import milliseconds, seconds
from dbdyno.report.charts.grid import Grid
from dbdyno.report.charts.plot import NARROW
from dbdyno.report.charts.scales import Scale, log_ticks, time_ticks
from dbdyno.report.charts.svg import Drawing, png_of_rgba
from dbdyno.report.charts.time_chart import (
    BOTTOM,
    BOX_HEIGHT,
    BOX_WIDTH,
    LEFT,
    LEFT_OF_EVENTS,
    RIGHT,
)

_COLOUR = (0, 95, 168)
_HEIGHT, _HEIGHT_NARROW = 260, 220
_TOP = 10


def draw_heat_map(grid: Grid, width: int) -> Markup:
    """Draw the image, and over it the rules of the axis of response times."""
    height = _HEIGHT_NARROW if width == NARROW else _HEIGHT
    drawing = Drawing(width, height)
    left = LEFT_OF_EVENTS if grid.has_events else LEFT
    right, bottom = width - RIGHT, height - BOTTOM
    times, shares = Scale(*grid.run_s, left, right), Scale(*grid.run_s, 0.0, 1.0)
    densities = grid.densities(bottom - _TOP)
    pixels = np.zeros((*densities.shape, 4), dtype=np.uint8)
    pixels[..., :3] = _COLOUR
    pixels[..., 3] = 255 * np.sqrt(densities / densities.max())
    drawing.image(
        left,
        _TOP,
        right - left,
        bottom - _TOP,
        png_of_rgba(pixels),
        part=(shares(grid.begin_s), shares(grid.end_s)),
        box=(BOX_WIDTH, BOX_HEIGHT),
    )
    # Not widened as other axes are: the image fills it from its lowest to its highest bucket.
    rows = Scale(grid.low_ms, grid.high_ms, bottom, _TOP, math.log10)
    for tick in log_ticks(rows.low, rows.high):
        drawing.text(left - 8, rows(tick) + 4, milliseconds(tick), "end")
        drawing.line(left, rows(tick), right, rows(tick), "rule")
    for tick in time_ticks(grid.end_s, 3 if width == NARROW else 8):
        drawing.text(times(tick), height - 8, seconds(tick), "middle", "label tick")
    # The script finds the plot by it.
    drawing.rectangle(left, _TOP, right - left, bottom - _TOP, "plot")
    return drawing.markup()
