"""Layout of text for people: paragraphs wrapped to a width, and aligned columns.

Callers say what is a paragraph and what is a table; only this module decides where a line ends.
Output to a pipe is not wrapped to a screen: tables are as wide as they need to be. If a screen is
too narrow, the text in table cells is wrapped, and if that is not enough, each row is printed as a
list of its own, like psql's expanded display. Draws no boxes and uses no colours, because results
are pasted into mails.
"""

import re
import textwrap
from collections.abc import Container, Iterable, Iterator, Sequence
from math import ceil
from operator import le
from typing import NamedTuple, TypeAlias

from dbdyno.formatting import THIN_SPACE, plain

FLOW = 100
"""Width of a paragraph in a mail or a log, unless the screen is narrower."""

_GAP = "  "
# Controls, and the marks and overrides of writing direction.
STEERING = r"\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""In brackets of a pattern: what steers a terminal or the direction of writing, and is no control
below a blank."""
_STEERING = re.compile(f"[{STEERING}]")
# A quoted string is one word: a shell takes a line break within quotes literally.
_SHELL_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|\S)+""")


class Paragraph(NamedTuple):
    """Text to be wrapped; lines after the first begin with ``hanging``."""

    text: str
    hanging: str = ""


class Command(NamedTuple):
    """A shell command; indented, and can be pasted as it is, however many lines it takes."""

    text: str


class Columns(NamedTuple):
    """Rows of cells, the headings first.

    The first ``left`` columns are left-aligned, or those at the places in ``left``.
    """

    rows: Sequence[Sequence[str]]
    left: int | Container[int]


Line: TypeAlias = str | Paragraph | Command | Columns


def laid_out(lines: Iterable[Line], screen: int | None = None, flow: int | None = FLOW) -> str:
    """Format lines for a screen of this width; for a pipe (None), wrap paragraphs to ``flow``.

    Whoever wrote the words in them (a server, a file's name, a tag): none controls the terminal.
    """
    widths = [width for width in (screen, flow) if width is not None]
    rendered = (one for line in lines for one in _rendered(line, screen, min(widths, default=None)))
    return "\n".join(visible(one) for text in rendered for one in plain(text).split("\n"))


def printable(text: str) -> str:
    """Return one line without control characters: server messages must not control the terminal."""
    return " ".join(filter(None, visible(text).split(" ")))


def visible(text: str) -> str:
    """Replace each unprintable character by a blank; keep the thin space within numbers."""
    if text.isprintable():  # a list has thousands of lines
        return text
    return "".join(one if one.isprintable() or one == THIN_SPACE else " " for one in text)


def harmless(json_text: str) -> str:
    """The same JSON, without characters that steer a terminal or the direction of writing.

    JSON itself escapes only the controls below a blank.
    """
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text)


def _rendered(line: Line, screen: int | None, width: int | None) -> Iterable[str]:
    if isinstance(line, str):
        return [line]
    if isinstance(line, Columns):
        return aligned(line.rows, line.left, screen)
    if isinstance(line, Command):
        return _command(line.text, screen)
    return [line.text] if width is None else folded(line.text, width, line.hanging)


def folded(text: str, width: int, hanging: str = "") -> list[str]:
    """Wrap a paragraph. Never breaks a word, or a number from its unit."""
    lines = textwrap.wrap(
        text, width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
    )
    return lines or [""]


def _command(text: str, screen: int | None) -> list[str]:
    """Wrap a command: unfinished lines end in a backslash, lines after the first are indented."""
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
    """Shorten a line to at most so many columns, with an ellipsis where it was cut."""
    return text if len(text) <= length else text[: max(length - 1, 0)] + "…"


def aligned(
    rows: Sequence[Sequence[str]], left: int | Container[int], screen: int | None = None
) -> Iterator[str]:
    """Align columns, no wider than the screen; if that is impossible, print each row as a list."""
    at_left = range(left) if isinstance(left, int) else left
    widths = [max(map(_length, column)) for column in zip(*rows, strict=True)]
    room = None if screen is None else screen - len(_GAP) * (len(widths) - 1)
    if room is None or sum(widths) <= room:
        yield from _grid(rows, at_left, widths)
        return
    least = [max(map(_longest_word, column)) for column in zip(*rows, strict=True)]
    if sum(least) <= room:
        yield from _grid(rows, at_left, _narrowed(widths, least, room))
    else:
        yield from _lists(rows, screen or 0)


def _length(cell: str) -> int:
    return max(map(len, cell.split("\n"))) if "\n" in cell else len(cell)


def _longest_word(cell: str) -> int:
    return max(map(len, cell.replace("\n", " ").split(" ")))


def _narrowed(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Narrow the columns where it costs the fewest lines, the widest first.

    No column becomes narrower than its longest word.
    """
    narrow = list(widths)

    def lines_and_width(place: int) -> tuple[int, int]:
        return -ceil(widths[place] / max(narrow[place] - 1, 1)), narrow[place]

    while sum(narrow) > room:
        places = [place for place, width in enumerate(narrow) if width > least[place]]
        narrow[max(places, key=lines_and_width)] -= 1
    return narrow


def _grid(
    rows: Sequence[Sequence[str]], at_left: Container[int], widths: Sequence[int]
) -> Iterator[str]:
    signs = ("<" if place in at_left else ">" for place in range(len(widths)))
    line = _GAP.join(f"{{:{sign}{width}}}" for sign, width in zip(signs, widths, strict=True))
    for row in rows:
        # Nearly all rows are one line, and a list has thousands of them.
        if all(map(le, map(len, row), widths)) and "\n" not in "".join(row):
            yield line.format(*row).rstrip(" ")
            continue
        cells = [_folded_cell(cell, width) for cell, width in zip(row, widths, strict=True)]
        for height in range(max(map(len, cells))):
            lines = [cell[height] if height < len(cell) else "" for cell in cells]
            padded = [
                text.ljust(width) if place in at_left else text.rjust(width)
                for place, (text, width) in enumerate(zip(lines, widths, strict=True))
            ]
            yield _GAP.join(padded).rstrip(" ")


def _folded_cell(cell: str, width: int) -> list[str]:
    """Wrap a cell; text that fits stays as it is, including its blanks."""
    if len(cell) <= width and "\n" not in cell:
        return [cell]
    folds = ([part] if len(part) <= width else folded(part, width) for part in cell.split("\n"))
    return [line for lines in folds for line in lines]


def _lists(rows: Sequence[Sequence[str]], screen: int) -> Iterator[str]:
    """Print each row as a list, headings before its cells, with a blank line between rows."""
    headings, *others = rows
    room = max(map(len, headings)) + len(_GAP)
    for number, row in enumerate(others):
        yield from [""] if number else []
        for heading, cell in zip(headings, row, strict=True):
            text = f"{heading.ljust(room)}{cell}".rstrip()
            yield from folded(text, screen, " " * room)
