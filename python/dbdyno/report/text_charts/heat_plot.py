"""A heat map in characters: the darker a cell, the more transactions took so long."""

import numpy as np

from dbdyno.formatting import milliseconds, seconds
from dbdyno.report.charts.grid import Grid
from dbdyno.report.charts.scales import Scale, log_scale, log_ticks, time_ticks
from dbdyno.report.text_charts.canvas import Area, Canvas, Glyphs, Tick, draw_axes, length_of

_ROWS = 10
_WITHIN = 8
"""Lines of the map that are averaged for each row."""
_TICK_COLUMNS = 14


def heat_plot(grid: Grid, width: int, glyphs: Glyphs) -> Canvas:
    """The map in so many columns, on the time axis of the charts over time."""
    up = log_scale(grid.low_ms, grid.high_ms, 0, 1)
    names = [(tick, milliseconds(tick)) for tick in log_ticks(up.low, up.high)]
    left = max(length_of(name) for _, name in names) + 2
    area = Area(0, left, _ROWS, width - left - 1)
    times = Scale(*grid.run_s, 0, 1)
    canvas = Canvas(width, _ROWS + 2)
    draw_axes(
        canvas,
        area,
        glyphs,
        [Tick(area.row_at(up(tick)), name) for tick, name in names],
        [
            Tick(area.column_at(times(tick)), seconds(tick))
            for tick in time_ticks(grid.run_s[1], max(2, area.columns // _TICK_COLUMNS))
        ],
    )
    darkest = len(glyphs.shades) - 1
    cells = np.sqrt(_cells(grid, area.columns))
    shades = np.ceil(cells / (cells.max() or 1.0) * darkest).astype(int)
    for row, shades_of_row in enumerate(shades.tolist()):
        text = "".join(glyphs.shades[shade] for shade in shades_of_row)
        canvas.put(area.top + row, area.left, text, "--blue")
    return canvas


def _cells(grid: Grid, columns: int) -> np.ndarray:
    """The mean density of each cell; nothing where nothing was measured."""
    lines = grid.densities(_ROWS * _WITHIN)
    rows = lines.reshape(_ROWS, _WITHIN, -1).mean(axis=1)
    begin_s, end_s = grid.run_s
    middles_s = begin_s + (np.arange(columns) + 0.5) / columns * (end_s - begin_s)
    shares = (middles_s - grid.begin_s) / (grid.end_s - grid.begin_s)
    places = np.clip((shares * rows.shape[1]).astype(int), 0, rows.shape[1] - 1)
    return np.where((shares >= 0) & (shares < 1), rows[:, places], 0.0)
