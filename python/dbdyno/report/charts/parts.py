"""Wholes and their parts as bars of equal length: how each is divided, not how large it is."""

from collections.abc import Sequence
from functools import partial

from markupsafe import Markup

from dbdyno.answers.answer import BarOf, PartsOf
from dbdyno.formatting import percent
from dbdyno.report.charts.plot import CHARACTER, at_each_width
from dbdyno.report.charts.svg import Drawing
from dbdyno.report.content import Figure, Table

COLOURS = ("red", "amber", "blue", "teal", "grey")
_BAR, _STEP, _TOP = 20, 30, 4
_ROOM_MIN = 36  # pixels that a share needs for its label


def parts_figure(parts: PartsOf, name: str) -> Figure:
    """The figure with the shares as a table."""
    return Figure(
        id=name,
        caption="Each bar is 100 %, whatever its total.",
        summary=f"{parts.title}. {parts.summary}",
        table=Table(
            caption=parts.title,
            columns=("", *parts.kinds, "total"),
            rows=[(bar.label, *map(percent, shares_of(bar)), bar.text) for bar in parts.bars],
            numeric=frozenset(range(1, len(parts.kinds) + 2)),
        ),
        svg=at_each_width(partial(_draw, parts)),
        shows=parts,
        key=[(f"--{colour}", kind) for kind, colour in zip(parts.kinds, COLOURS, strict=False)],
    )


def shares_of(bar: BarOf) -> Sequence[float]:
    """Shares of the whole; all 0 if it is empty."""
    whole = sum(bar.parts)
    return [part / whole if whole else 0.0 for part in bar.parts]


def _draw(parts: PartsOf, width: int) -> Markup:
    drawing = Drawing(width, _TOP + _STEP * len(parts.bars))
    left = max(len(bar.label) for bar in parts.bars) * CHARACTER + 14
    right = width - max(len(bar.text) for bar in parts.bars) * CHARACTER - 14
    for place, bar in enumerate(parts.bars):
        y = _TOP + place * _STEP
        drawing.text(left - 10, y + 14, bar.label, "end", "value")
        drawing.text(right + 10, y + 14, bar.text, "start", "label")
        begin = left
        for share, colour in zip(shares_of(bar), COLOURS, strict=False):
            length = share * (right - left)
            drawing.rectangle(begin, y, max(length - 1, 0), _BAR, f"part {colour}")
            if length >= _ROOM_MIN:
                text = percent(round(share, 2))
                drawing.text(begin + length / 2, y + 14, text, "middle", "inside")
            begin += length
    return drawing.markup()
