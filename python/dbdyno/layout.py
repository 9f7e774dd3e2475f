"""Lines for people's eyes: paragraphs that flow to a width, and columns under each other.

What is written says what is a paragraph and what is a table; here alone it is decided where a
line ends. In a pipe nothing is folded to a screen: tables are as wide as they are. On a screen
that is too narrow the words in a table's cells are folded, and where even that does not help,
each row is told as a list of its own, as psql's expanded display does. Draws no boxes, and knows
no colours: results are pasted into mails.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import NamedTuple, TypeAlias

from dbdyno.words import THIN_SPACE, plain

FLOW = 100
"""Columns of a paragraph, for a mail or a log, where no screen is narrower."""

_GAP = "  "
# What stands in quotes is one word: within them a shell takes the end of a line as it is.
_SHELL_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|\S)+""")


class Paragraph(NamedTuple):
    """Words that flow; lines after the first begin with ``hanging``."""

    text: str
    hanging: str = ""


class Command(NamedTuple):
    """Words for a shell; set in, and to be pasted as they are, however many lines they take."""

    text: str


class Columns(NamedTuple):
    """Rows of cells under each other, the headings first; the first ``left`` flush left."""

    rows: Sequence[Sequence[str]]
    left: int


Line: TypeAlias = str | Paragraph | Command | Columns


def laid_out(lines: Iterable[Line], screen: int | None = None, flow: int | None = FLOW) -> str:
    """The lines on a screen of so many columns; in a pipe (None) paragraphs flow to ``flow``."""
    widths = [width for width in (screen, flow) if width is not None]
    told = (one for line in lines for one in _told(line, screen, min(widths, default=None)))
    return plain("\n".join(told))


def printable(text: str) -> str:
    """One line without control characters: a server's message must not steer the terminal."""
    return " ".join(filter(None, visible(text).split(" ")))


def visible(text: str) -> str:
    """With a blank for whatever is not to be seen; the thin one of numbers is kept."""
    return "".join(one if one.isprintable() or one == THIN_SPACE else " " for one in text)


def _told(line: Line, screen: int | None, width: int | None) -> Iterable[str]:
    if isinstance(line, str):
        return [line]
    if isinstance(line, Columns):
        return aligned(line.rows, line.left, screen)
    if isinstance(line, Command):
        return _command(line.text, screen)
    return [line.text] if width is None else folded(line.text, width, line.hanging)


def folded(text: str, width: int, hanging: str = "") -> list[str]:
    """The lines of a paragraph. No word is broken, nor a number from its unit."""
    lines = textwrap.wrap(
        text, width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
    )
    return lines or [""]


def _command(text: str, screen: int | None) -> list[str]:
    """Lines that go on end as a shell wants it, and those after the first are set in."""
    if screen is None or len(text) <= screen:
        return [text]
    indent = " " * (len(text) - len(text.lstrip()))
    first, *words = _SHELL_WORD.findall(text)
    lines = [f"{indent}{first}"]
    for word in words:
        if len(f"{lines[-1]} {word} \\") <= screen:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{indent}    {word}")
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def shortened(text: str, length: int) -> str:
    """A line of so many columns at most, with a sign where it was cut; of one at the least."""
    return text if len(text) <= length else text[: max(length - 1, 0)] + "…"


def aligned(rows: Sequence[Sequence[str]], left: int, screen: int | None = None) -> Iterator[str]:
    """Columns under each other, no wider than the screen; else each row as a list."""
    widths = [max(map(_length, column)) for column in zip(*rows, strict=True)]
    least = [max(map(_longest_word, column)) for column in zip(*rows, strict=True)]
    room = None if screen is None else screen - len(_GAP) * (len(widths) - 1)
    if room is None or sum(widths) <= room:
        yield from _grid(rows, left, widths)
    elif sum(least) <= room:
        yield from _grid(rows, left, _narrowed(widths, least, room))
    else:
        yield from _lists(rows, screen or 0)


def _length(cell: str) -> int:
    return max(map(len, cell.split("\n")))


def _longest_word(cell: str) -> int:
    return max(map(len, cell.replace("\n", " ").split(" ")))


def _narrowed(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Where it takes the fewest lines columns give way, the widest first.

    None does so further than to its longest word.
    """
    narrow = list(widths)

    def lines_and_width(place: int) -> tuple[int, int]:
        return -ceil(widths[place] / max(narrow[place] - 1, 1)), narrow[place]

    while sum(narrow) > room:
        places = [place for place, width in enumerate(narrow) if width > least[place]]
        narrow[max(places, key=lines_and_width)] -= 1
    return narrow


def _grid(rows: Sequence[Sequence[str]], left: int, widths: Sequence[int]) -> Iterator[str]:
    for row in rows:
        cells = [_folded_cell(cell, width) for cell, width in zip(row, widths, strict=True)]
        for height in range(max(map(len, cells))):
            lines = [cell[height] if height < len(cell) else "" for cell in cells]
            padded = [
                text.ljust(width) if place < left else text.rjust(width)
                for place, (text, width) in enumerate(zip(lines, widths, strict=True))
            ]
            yield _GAP.join(padded).rstrip(" ")


def _folded_cell(cell: str, width: int) -> list[str]:
    """As it is where it fits, its blanks included."""
    folds = ([part] if len(part) <= width else folded(part, width) for part in cell.split("\n"))
    return [line for lines in folds for line in lines]


def _lists(rows: Sequence[Sequence[str]], screen: int) -> Iterator[str]:
    """Each row with the headings before its cells, and a blank line between two."""
    headings, *others = rows
    room = max(map(len, headings)) + len(_GAP)
    for number, row in enumerate(others):
        yield from [""] if number else []
        for heading, cell in zip(headings, row, strict=True):
            text = f"{heading.ljust(room)}{cell}".rstrip()
            yield from folded(text, screen, " " * room)
