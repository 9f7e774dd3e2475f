"""Response times of each interval as a heat map: shows what percentiles hide, such as two modes."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from markupsafe import Markup
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.distributions import bucket_low_ms, bucket_matrix
from dbdyno.formatting import milliseconds, percent, seconds
from dbdyno.report.content import Block, Figure, Section, Subject, Table
from dbdyno.report.events import lanes
from dbdyno.report.over_time import span_s
from dbdyno.report.plot import NARROW, at_each_width
from dbdyno.report.scales import Scale, log_ticks, time_ticks
from dbdyno.report.svg import Drawing, png_of_rgba
from dbdyno.report.time_chart import BOTTOM, LEFT, LEFT_OF_EVENTS, RIGHT

_COLUMNS_MAX = 240
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


def build(subject: Subject) -> Sequence[Block]:
    """Measured intervals only, added up in groups if the run is long."""
    grid = _grid(subject)
    if grid is None:
        return []
    return [
        Figure(
            id="heat-map-image",
            caption="Transactions by response time. Colour intensity: square root of the share of "
            "transactions per unit of height. Measured part only.",
            summary=_summary(grid),
            table=_table(grid),
            svg=at_each_width(partial(_draw, grid)),
        )
    ]


def _grid(subject: Subject) -> Grid | None:
    line = subject.timeline
    matrix = bucket_matrix(subject.recording.tables["script_buckets"], len(line.tps))
    measured = np.flatnonzero(line.phase == "measure")
    counts = _grouped(matrix[measured])
    filled = np.flatnonzero(counts.sum(axis=0))
    if not len(filled):
        return None
    first, last = int(filled[0]), int(filled[-1]) + 1
    ends_ms = bucket_low_ms(np.arange(first, last + 1))
    counts = counts[:, first:last]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    begin_s = float(line.time_s[measured[0]])
    end_s = float(line.time_s[measured[-1]] + line.seconds[measured[-1]])
    longest_ms = float(np.nanmax(line.latencies_ms["max_ms"][measured]))
    of_all = counts.sum(axis=0) / counts.sum()
    run_s = span_s(subject)
    has_events = bool(lanes(subject))
    return Grid(shares.T, ends_ms, of_all, longest_ms, begin_s, end_s, run_s, has_events)


def _grouped(matrix: NDArray[np.int64]) -> NDArray[np.int64]:
    size = max(1, -(-len(matrix) // _COLUMNS_MAX))
    return np.add.reduceat(matrix, np.arange(0, len(matrix), size)) if len(matrix) else matrix


def _summary(grid: Grid) -> str:
    mode = float(grid.ends_ms[grid.of_all.argmax()])
    ends = f"{milliseconds(grid.low_ms)} and {milliseconds(grid.longest_ms)}"
    return (
        f"Response times are between {ends}; the fullest bucket starts at {milliseconds(mode)} and "
        f"holds {percent(float(grid.of_all.max()))} of the transactions."
    )


def _table(grid: Grid) -> Table:
    ends = grid.ends_ms.tolist()
    return Table(
        caption="Share of transactions by response time, over the whole run",
        columns=("From", "To", "Share"),
        rows=[
            (milliseconds(low), milliseconds(high), percent(float(share)))
            for low, high, share in zip(ends, ends[1:], grid.of_all, strict=False)
            if share
        ],
        numeric=frozenset({0, 1, 2}),
    )


def _draw(grid: Grid, width: int) -> Markup:
    height = _HEIGHT_NARROW if width == NARROW else _HEIGHT
    drawing = Drawing(width, height)
    left = LEFT_OF_EVENTS if grid.has_events else LEFT
    right, bottom = width - RIGHT, height - BOTTOM
    times = Scale(*grid.run_s, left, right)
    begin, end = times(grid.begin_s), times(grid.end_s)
    drawing.image(begin, _TOP, end - begin, bottom - _TOP, _pixels(grid, bottom - _TOP))
    # Not widened as other axes are: the image fills it from its lowest to its highest bucket.
    rows = Scale(grid.low_ms, grid.high_ms, bottom, _TOP, math.log10)
    for tick in log_ticks(rows.low, rows.high):
        drawing.text(left - 8, rows(tick) + 4, milliseconds(tick), "end")
        drawing.line(left, rows(tick), right, rows(tick), "rule")
    for tick in time_ticks(grid.end_s, 3 if width == NARROW else 8):
        drawing.text(times(tick), height - 8, seconds(tick), "middle")
    return drawing.markup()


def _pixels(grid: Grid, height: int) -> bytes:
    """One colour, with the share as opacity: suitable for a light and a dark page.

    Buckets are eight an octave in equal steps, so their heights differ on a logarithmic axis: each
    line of pixels looks up the bucket it falls into, and a share is divided by the height of its
    bucket there.
    """
    heights = np.diff(np.log(np.maximum(grid.ends_ms, 1e-6)))
    by_height = grid.shares / np.maximum(heights, 1e-9)[:, None]
    lines = np.geomspace(grid.high_ms, grid.low_ms, height)
    rows = np.searchsorted(grid.ends_ms, lines, side="right") - 1
    densities = by_height[np.clip(rows, 0, len(by_height) - 1)]
    pixels = np.zeros((*densities.shape, 4), dtype=np.uint8)
    pixels[..., :3] = _COLOUR
    pixels[..., 3] = 255 * np.sqrt(densities / densities.max())
    return png_of_rgba(pixels)


SECTION = Section(id="heat-map", title="Response time heat map", order=30, build=build)
