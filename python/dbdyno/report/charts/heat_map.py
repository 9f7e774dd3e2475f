"""A heat map: shares by height, interval by interval, as an image under labelled axes."""

import math

import numpy as np
from markupsafe import Markup
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.formatting import milliseconds, seconds
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


class Grid(Struct, frozen=True):
    """Shares of each interval's transactions: rows are buckets upwards, columns are times."""

    shares: NDArray[np.float64]
    ends_ms: NDArray[np.float64]
    """Lower bound of each row, and finally the upper bound of the topmost."""
    of_all: NDArray[np.float64]
    """Each row's share of all transactions: intervals with more transactions weigh more."""
    longest_ms: float
    """The longest response time, which is somewhere within the topmost row."""
    begin_s: float
    end_s: float
    run_s: tuple[float, float]
    """Where the axis of the charts over time begins and ends: with warm-up and drain."""
    has_events: bool

    @property
    def low_ms(self) -> float:
        """Lower end of the axis, which is logarithmic and so has no zero."""
        return max(float(self.ends_ms[0]), 1e-6)

    @property
    def high_ms(self) -> float:
        """Upper end of the axis."""
        return float(self.ends_ms[-1])


def draw_heat_map(grid: Grid, width: int) -> Markup:
    """Draw the image, and over it the rules of the axis of response times."""
    height = _HEIGHT_NARROW if width == NARROW else _HEIGHT
    drawing = Drawing(width, height)
    left = LEFT_OF_EVENTS if grid.has_events else LEFT
    right, bottom = width - RIGHT, height - BOTTOM
    times, shares = Scale(*grid.run_s, left, right), Scale(*grid.run_s, 0.0, 1.0)
    heights = np.diff(np.log(np.maximum(grid.ends_ms, 1e-6)))
    by_height = grid.shares / np.maximum(heights, 1e-9)[:, None]
    lines = np.geomspace(grid.high_ms, grid.low_ms, bottom - _TOP)
    places = np.searchsorted(grid.ends_ms, lines, side="right") - 1
    densities = by_height[np.clip(places, 0, len(by_height) - 1)]
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
