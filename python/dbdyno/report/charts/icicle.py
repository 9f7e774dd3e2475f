"""An icicle: a whole, below it its parts, below each of them its parts, as wide as they are large.

A flame graph upside down (Gregg, *The Flame Graph*, ACM Queue 14(2), 2016); but what lies below a
part is of it, not called by it: call chains are rarely known of a server as it is installed.
"""

from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from dbdyno.layout import shortened
from dbdyno.report.charts.svg import Drawing

_ROW = 24
_COLOURS = ("blue", "teal", "amber", "grey")
_CHARACTER = 7.3  # width of a wide letter at 11 px: a label never leaves its part
_LABEL_MIN = 30
"""Pixels; a narrower part has no label."""
_SEEN_MIN = 0.3
"""Pixels; a narrower part is not drawn."""


class IciclePart(Struct, frozen=True):
    """A part with its size as text; the sizes of its parts add up to its own at most."""

    name: str
    size: float
    text: str
    parts: Sequence["IciclePart"] = ()
    colour: str = ""
    """Empty: that of its level."""


class Icicle(Struct, frozen=True):
    """The parts beside each other, and how many levels there are in all."""

    parts: Sequence[IciclePart]
    levels: int

    @property
    def whole(self) -> float:
        """The sum of the sizes on the first level; never zero."""
        return sum(part.size for part in self.parts) or 1.0


def draw_icicle(icicle: Icicle, width: int) -> Markup:
    """Draw each level as a row, the whole as wide as the drawing."""
    drawing = Drawing(width, icicle.levels * _ROW)
    _draw(drawing, icicle.parts, 0.0, width / icicle.whole, 0)
    return drawing.markup()


def _draw(
    drawing: Drawing, parts: Sequence[IciclePart], left: float, scale: float, level: int
) -> None:
    for place, part in enumerate(parts):
        wide = part.size * scale
        if wide < _SEEN_MIN:
            continue
        # Neighbours differ, so that a boundary is seen where there is no room for a gap.
        of_level = _COLOURS[min(level, len(_COLOURS) - 1)]
        colour = (part.colour or of_level) + (" other" if place % 2 else "")
        title = f"{part.name}: {part.text}"
        drawing.cell(left, level * _ROW, wide - 0.5, _ROW - 1, colour, name=part.name, title=title)
        if wide >= _LABEL_MIN:
            label = shortened(part.name, int((wide - 6) / _CHARACTER))
            drawing.text(left + 4, level * _ROW + 16, label, style="inside")
        _draw(drawing, part.parts, left, scale, level + 1)
        left += wide
