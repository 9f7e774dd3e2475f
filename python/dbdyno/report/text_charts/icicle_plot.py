"""An icicle in characters: a row for each level, a part as wide as it is large, with its name."""

from collections.abc import Sequence

from dbdyno.report.charts.icicle import Icicle, IciclePart
from dbdyno.report.text_charts.canvas import Canvas, Glyphs, cut, length_of

_NAME_MIN = 3
"""Columns: a narrower part is seen, and has no name."""


def icicle_plot(icicle: Icicle, width: int, glyphs: Glyphs) -> Canvas:
    """The icicle in so many columns; where there is room, a part has its size beside its name."""
    canvas = Canvas(width, icicle.levels)
    _draw(canvas, icicle.parts, 0.0, (width - 1) / icicle.whole, glyphs, level=0)
    return canvas


def _draw(  # noqa: PLR0913 - on what, what, where, and how it looks
    canvas: Canvas,
    parts: Sequence[IciclePart],
    left: float,
    scale: float,
    glyphs: Glyphs,
    *,
    level: int,
) -> None:
    for part in parts:
        begin, end = round(left), round(left + part.size * scale)
        if end > begin:  # narrower than a column: left out, with all its parts
            room = end - begin - 2
            text = f"{part.name}  {part.text}"
            label = text if length_of(text) <= room else cut(part.name, room)
            for column in (begin, end):
                canvas.put(level, column, glyphs.upright)
            if room >= _NAME_MIN:
                canvas.put(level, begin + 1, label)
            _draw(canvas, part.parts, left, scale, glyphs, level=level + 1)
        left += part.size * scale
