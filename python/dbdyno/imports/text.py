"""The lines of a text, however it came here: in blocks, so that its size does not matter.

A web page, a terminal and a word processor each leave something of theirs in what was copied from
them. Here it is removed, as far as no tool prints it itself.
"""

import codecs
import html
import re
from collections.abc import Callable, Iterable, Iterator
from typing import IO, NamedTuple

from dbdyno.store.secrets import without_password

BLOCK_BYTES = 1 << 20
LINE_MAX = 1 << 16
"""What is longer is cut: no tool prints such a line, and it must fit into the memory."""
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_ENDS = re.compile(r"\r\n|\n|\r")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TAGS = re.compile(r"</?(?:pre|code|p|div|span|samp|tt|td|tr|li|b|br)\b[^<>]*>", re.IGNORECASE)
# Of Asian type, and the spaces of web pages.
_PLAIN = str.maketrans(
    {
        "：": ":",
        "＝": "=",
        "（": "(",
        "）": ")",
        "，": ", ",
        "％": "%",
        "\u00a0": " ",
        "\u202f": " ",
        "\u2009": " ",
        "\u3000": " ",
        "\u200b": "",
        "\ufeff": "",
        "\u2019": "'",
    }
)
# How a quotation, a list or a table of Markdown begins.
_BEGINS = re.compile(r"^(?:[ \t]*[>|])+ ?")


class Line(NamedTuple):
    """A line with its number, from 1; ``is_whole`` unless the text ends within it."""

    number: int
    text: str
    is_whole: bool = True


class Mended:
    """Lines for a reader, those together that were broken in two by whoever copied them.

    ``takes`` returns whether the reader takes a line, ``is_broken`` whether a line that it does not
    take may be the beginning of one.
    """

    def __init__(self, takes: Callable[[Line], bool], is_broken: Callable[[str], bool]) -> None:
        self._takes = takes
        self._is_broken = is_broken
        self._broken: Line | None = None

    def take(self, line: Line) -> bool:
        """Return whether the line was taken, alone or with the one before."""
        broken, self._broken = self._broken, None
        if broken is not None:
            for between in ("", " "):
                joined = f"{broken.text}{between}{line.text.lstrip()}"
                if self._takes(Line(broken.number, joined, line.is_whole)):
                    return True
        if self._takes(line):
            return True
        # It may as well be another tool's: which, its next line tells.
        self._broken = line if self._is_broken(line.text) and line.is_whole else None
        return False


def pieces(file: IO[bytes]) -> Iterator[str]:
    """Yield a text in UTF-8, UTF-16 or, byte by byte, in Latin-1, in pieces of whole lines.

    The last piece may end within a line.
    """
    rest = ""
    for block in _decoded(file):
        text = rest + block
        # A carriage return at the end may be the first half of an end.
        end = max(text.rfind("\n"), text.rfind("\r", 0, -1)) + 1
        if end:
            yield text[:end]
        rest = text[end:][: 2 * LINE_MAX]
    if rest:
        yield rest


def lines(text: Iterable[str]) -> Iterator[Line]:
    """Yield the lines of the pieces of a text."""
    number = 0
    for piece in text:
        *whole, rest = _ENDS.split(piece)
        for line in whole:
            number += 1
            yield Line(number, line[:LINE_MAX])
        if rest:
            yield Line(number + 1, rest[:LINE_MAX], is_whole=False)


def _decoded(file: IO[bytes]) -> Iterator[str]:
    first = file.read(BLOCK_BYTES)
    encoding = next((name for mark, name in _MARKS.items() if first.startswith(mark)), "utf-8")
    decoder = codecs.getincrementaldecoder(encoding)(errors="latin_1")
    block = first
    while block:
        yield decoder.decode(block)
        block = file.read(BLOCK_BYTES)
    yield decoder.decode(b"", final=True)


def _byte_by_byte(error: UnicodeError) -> tuple[str, int]:
    """What is not UTF-8 is taken for Latin-1, so that the line beside it can be read."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("latin_1", _byte_by_byte)


def plain(text: str) -> str:
    """A line without what a page or a terminal has added; its spaces at the begin stay."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "<" in text:
        text = _TAGS.sub("", text)
    if "&" in text and ";" in text:
        text = html.unescape(text)
    if not text.isascii():
        text = text.translate(_PLAIN)
    return _BEGINS.sub("", text).rstrip()


# An option of a tool with a password, and one in libpq's environment.
_OPTION = re.compile(
    r"(?P<before>(?:--?|\b)[\w-]*(?:password|passwd|pwd|secret|token)[\w-]*(?:=|\s+))"
    r"(?:'[^']*'|\"[^\"]*\"|\S+)",
    re.IGNORECASE,
)


def masked(text: str) -> str:
    """A command line without its passwords."""
    return _OPTION.sub(
        lambda found: f"{found['before']}***",
        " ".join(without_password(word) if "://" in word else word for word in text.split(" ")),
    )
