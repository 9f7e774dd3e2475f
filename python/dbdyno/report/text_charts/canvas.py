"""A grid of characters with a plot in it: its cells, its axes, and the marks of its series.

Whatever the texts in it are (names of scripts, tags), each takes the columns that it takes in a
terminal, and none controls it.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from dbdyno.formatting import plain
from dbdyno.layout import visible


class Glyphs(NamedTuple):
    """The characters that charts are drawn with."""

    blocks: str
    """Filled from the bottom: not at all, and up to the whole cell."""
    upright: str
    level: str
    corner: str
    span: str
    """A stretch of time, and below a part of it that is emphasized."""
    strong: str
    top: str
    """The upper end of an interval, and below its lower one."""
    bottom: str
    guide: str
    """A line that leads down from a word."""
    dot: str
    """A line that was not measured."""
    shades: str
    """From nothing to everything."""
    marks: str
    """Those of the first series, the second, …"""


UNICODE = Glyphs(" ▁▂▃▄▅▆▇█", "│", "─", "└", "─", "━", "┬", "┴", "┊", "·", " ░▒▓█", "•×+o◆*#@")
ASCII = Glyphs(" .:#", "|", "-", "+", "-", "=", "-", "-", ":", ".", " .+*#", "ox+*@%&$")
"""For terminals whose locale is not UTF-8."""


class Run(NamedTuple):
    """Characters beside each other in one colour, a custom property of the style sheet."""

    text: str
    colour: str


class Canvas:
    """A grid of cells, each with its colour."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._cells = [[" "] * width for _ in range(height)]
        self._colours = [[""] * width for _ in range(height)]

    def put(self, row: int, column: int, text: str, colour: str = "") -> None:
        """Write a text, as far as it is on the canvas."""
        for character in one_line(text):
            columns = _columns_of(character)
            if columns and 0 <= column <= self.width - columns and 0 <= row < self.height:
                # The second column of a wide character has none of its own.
                self._cells[row][column : column + columns] = [character, ""][:columns]
                self._colours[row][column : column + columns] = [colour] * columns
            column += columns

    def paste(self, row: int, column: int, other: "Canvas") -> None:
        """Copy another canvas, as far as there is room for it."""
        for at, cells in enumerate(other._cells[: max(self.height - row, 0)], row):
            room = max(self.width - column, 0)
            self._cells[at][column : column + other.width] = cells[:room]
            self._colours[at][column : column + other.width] = other._colours[at - row][:room]

    def lines(self) -> list[str]:
        """Each row without the blanks at its end."""
        return ["".join(row).rstrip() for row in self._cells]

    def runs(self) -> Iterator[list[Run]]:
        """Each row as texts of one colour."""
        for cells, colours in zip(self._cells, self._colours, strict=True):
            pairs = zip(cells, colours, strict=True)
            yield [
                Run("".join(cell for cell, _ in together), colour)
                for colour, together in groupby(pairs, lambda pair: pair[1])
            ]


def one_line(text: str) -> str:
    """The text as it is shown in a terminal, whoever wrote it."""
    return visible(plain(text))


def length_of(text: str) -> int:
    """The number of columns that a text takes in a terminal."""
    return sum(map(_columns_of, one_line(text)))


def cut(text: str, columns: int) -> str:
    """The text, or its beginning with an ellipsis, in at most so many columns."""
    text = one_line(text)
    if length_of(text) <= columns:
        return text
    while text and length_of(text) > columns - 1:
        text = text[:-1]
    return f"{text}…" if columns > 0 else ""


def _columns_of(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def letters_of(names: Sequence[str]) -> list[str]:
    """A letter for each name, which no other has: its first one, else a consonant from its end.

    So beside LWLock, which has L, a lock has K, whether or not a CPU has C.
    """
    taken: list[str] = []
    for name in names:
        own = [letter for letter in name.upper() if letter.isascii() and letter.isalpha()]
        others = [letter for letter in reversed(own) if letter not in "AEIOU"]
        spare = map(chr, range(ord("0"), 0x7F))
        taken.append(next(one for one in (*own[:1], *others, *own, *spare) if one not in taken))
    return taken


class Tick(NamedTuple):
    """A place on an axis, in cells from its beginning, with its words."""

    place: int
    text: str


class Area(NamedTuple):
    """The part of a canvas on which a plot's data is drawn."""

    top: int
    left: int
    rows: int
    columns: int

    def row_at(self, share: float) -> int:
        """The row of a share of the height."""
        return self.top + self.rows - 1 - min(int(share * self.rows), self.rows - 1)

    def column_at(self, share: float) -> int:
        """The column of a share of the width."""
        return self.left + min(int(share * self.columns), self.columns - 1)


def draw_axes(
    canvas: Canvas, area: Area, glyphs: Glyphs, up: Sequence[Tick], across: Sequence[Tick]
) -> None:
    """Draw both axes with their ticks; one that would touch the word of another is left out."""
    for row in range(area.top, area.top + area.rows):
        canvas.put(row, area.left - 1, glyphs.upright)
    named: set[int] = set()
    for tick in up:
        if tick.place not in named:
            canvas.put(tick.place, area.left - 1 - length_of(tick.text) - 1, tick.text)
            named.add(tick.place)
    bottom = area.top + area.rows
    canvas.put(bottom, area.left - 1, glyphs.corner + glyphs.level * area.columns)
    free = 0
    for tick in across:
        length = length_of(tick.text)
        begin = max(min(tick.place - length // 2, canvas.width - length), 0)
        if begin >= free:
            canvas.put(bottom + 1, begin, tick.text)
            canvas.put(bottom, tick.place, glyphs.top)
            free = begin + length + 2


def draw_column(  # noqa: PLR0913 - where, how high, and how it looks
    canvas: Canvas, area: Area, column: int, share: float, blocks: str, *, colour: str
) -> None:
    """Fill a column up to a share of the height; what is above zero is seen."""
    steps = len(blocks) - 1
    height = max(round(share * area.rows * steps), 1 if share > 0 else 0)
    for row in range(area.rows):
        filled = min(max(height - row * steps, 0), steps)
        if filled:
            canvas.put(area.top + area.rows - 1 - row, column, blocks[filled], colour)


def key_lines(entries: Sequence[tuple[str, str]], width: int) -> list[list[tuple[str, str]]]:
    """Marks with their meaning, as many on a line as fit."""
    lines: list[list[tuple[str, str]]] = [[]]
    room = width
    for mark, meaning in entries:
        needed = length_of(f"{mark} {meaning}") + 2
        if lines[-1] and needed > room + 2:
            lines.append([])
            room = width
        lines[-1].append((mark, meaning))
        room -= needed
    return [line for line in lines if line]
