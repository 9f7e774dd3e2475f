"""Statements as bars on one scale: the mean divided into its parts, with a dot and a whisker."""

from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from dbdyno.formatting import milliseconds
from dbdyno.layout import shortened
from dbdyno.report.charts.scales import Scale, linear_ticks
from dbdyno.report.charts.svg import Drawing

_ROW, _TOP, _BOTTOM, _RIGHT = 40, 6, 40, 76
_CHARACTER = 7.3  # width of a character of the code face at 12 px


class StatementBar(Struct, frozen=True, kw_only=True):
    """A statement's times; ``parts`` are those of its mean from the left, each with its style."""

    label: str
    mean_ms: float
    p95_ms: float
    p99_ms: float
    parts: Sequence[tuple[str, float]]


def draw_statement_bars(bars: Sequence[StatementBar], width: int) -> Markup:
    """Draw them from top to bottom, each under its label."""
    bottom = _TOP + _ROW * len(bars)
    drawing = Drawing(width, bottom + _BOTTOM - 16)
    longest_ms = max(max(bar.p99_ms, bar.mean_ms) for bar in bars)
    across = Scale(0, longest_ms or 1, 0.5, width - _RIGHT)
    for tick in linear_ticks(longest_ms, 6 if width > 500 else 3):
        drawing.line(across(tick), _TOP, across(tick), bottom, "rule")
        drawing.text(across(tick), bottom + 16, milliseconds(tick), "middle" if tick else "start")
    for place, bar in enumerate(bars):
        top = _TOP + place * _ROW
        p99, middle = across(bar.p99_ms), top + 26
        label = shortened(" ".join(bar.label.split()), int(drawing.width / _CHARACTER))
        drawing.text(0, top + 13, label, "start", "code", title=bar.label)
        drawing.line(across(0), middle, p99, middle, "whisker")
        drawing.line(p99, middle - 4, p99, middle + 4, "whisker")
        begin_ms = 0.0
        for style, part_ms in bar.parts:
            left = across(begin_ms)
            begin_ms += part_ms
            drawing.rectangle(left, middle - 6, across(begin_ms) - left, 12, style)
        drawing.dot(across(bar.p95_ms), middle, 3, "whisker-dot")
        mean = milliseconds(bar.mean_ms)
        drawing.text(max(p99, across(bar.mean_ms)) + 8, middle + 4, mean, "start", "value")
    return drawing.markup()
