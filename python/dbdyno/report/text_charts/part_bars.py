"""Wholes and their parts in characters: bars of equal length, filled with the parts' letters."""

from dbdyno.answers.answer import PartsOf
from dbdyno.report.charts.parts import COLOURS, shares_of
from dbdyno.report.text_charts.canvas import Canvas, Glyphs, cut, key_lines, length_of, letters_of

_LABEL_MAX = 0.4
"""Of the width, for the labels and for the totals: a bar has at least a fifth."""


def part_bars(parts: PartsOf, width: int, _glyphs: Glyphs) -> Canvas:
    """A row for each bar, and below them what the letters mean."""
    room = int(width * _LABEL_MAX)
    labels = [cut(bar.label, room) for bar in parts.bars]
    totals = [cut(bar.text, room) for bar in parts.bars]
    left = max(map(length_of, labels), default=0) + 2
    length = max(width - left - max(map(length_of, totals), default=0) - 2, 1)
    letters = letters_of(parts.kinds)
    key = key_lines([*zip(letters, parts.kinds, strict=True)], width - left)
    canvas = Canvas(width, len(parts.bars) + len(key))
    for row, (bar, label, total) in enumerate(zip(parts.bars, labels, totals, strict=True)):
        canvas.put(row, left - 2 - length_of(label), label)
        begin = 0.0
        for place, (share, letter) in enumerate(zip(shares_of(bar), letters, strict=True)):
            first, begin = round(begin * length), begin + share
            colour = COLOURS[place % len(COLOURS)]
            canvas.put(row, left + first, letter * (round(begin * length) - first), colour)
        canvas.put(row, left + length + 2, total)
    for row, entries in enumerate(key, len(parts.bars)):
        column = left
        for letter, kind in entries:
            canvas.put(row, column, f"{letter} {kind}")
            column += length_of(kind) + 4
    return canvas
