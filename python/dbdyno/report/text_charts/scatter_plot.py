"""A number of each measurement interval over time in characters: dots, and a row for each event.

A dot may be one interval or many; in a column with several rows of dots, the number varied.
"""

from dbdyno.answers.answer import ScatterOf
from dbdyno.formatting import seconds, significant
from dbdyno.report.charts.plot import scale_of, ticks_of
from dbdyno.report.charts.scales import Scale, time_ticks
from dbdyno.report.text_charts.canvas import (
    Area,
    Canvas,
    Glyphs,
    Tick,
    cut,
    draw_axes,
    key_lines,
    length_of,
)

_ROWS = 10
_LABEL_MAX = 0.3
"""Of the width, for the words on the left."""
_TICK_COLUMNS = 14


def scatter_plot(scatter: ScatterOf, width: int, glyphs: Glyphs) -> Canvas:
    """The chart in so many columns: the events of each kind, the dots, what they stand for."""
    times = [x for one in scatter.series for x in one.x]
    up = scale_of([y for one in scatter.series for y in one.y], 0, 1, is_log=False)
    across = Scale(min(times), max(*times, min(times) + 1.0), 0, 1)
    words = [(value, significant(value)) for value in ticks_of(up, is_log=False)]
    kinds = [cut(kind, int(width * _LABEL_MAX)) for kind in scatter.kinds]
    title = cut(scatter.y_title, int(width * _LABEL_MAX))
    left = max(map(length_of, [title, *kinds, *(text for _, text in words)])) + 2
    area = Area(1 + len(kinds), left, _ROWS, max(width - left - 1, 1))
    several = len(scatter.series) > 1
    series = list(zip(glyphs.marks, scatter.series, strict=False))
    key = key_lines([(mark, one.label) for mark, one in series], area.columns) if several else []
    canvas = Canvas(width, area.top + _ROWS + 2 + len(key))
    canvas.put(0, left - 2 - length_of(title), title)
    for row, kind in enumerate(kinds, 1):
        canvas.put(row, left - 2 - length_of(kind), kind)
    for span in scatter.spans:
        begin, end = (area.column_at(across(at)) for at in (span.begin_s, span.end_s))
        row = 1 + scatter.kinds.index(span.kind)
        canvas.put(row, begin, glyphs.strong * max(end - begin, 1), "--events")
    ticks = time_ticks(across.high, max(2, area.columns // _TICK_COLUMNS))
    draw_axes(
        canvas,
        area,
        glyphs,
        [Tick(area.row_at(up(value)), text) for value, text in words],
        [Tick(area.column_at(across(at)), seconds(at)) for at in ticks if at >= across.low],
    )
    for mark, one in reversed(series):
        for x, y in zip(one.x, one.y, strict=True):
            canvas.put(area.row_at(up(y)), area.column_at(across(x)), mark)
    for row, entries in enumerate(key, area.top + _ROWS + 2):
        canvas.put(row, left, "  ".join(f"{mark} {meaning}" for mark, meaning in entries))
    return canvas
