r"""A script in pgbench's language as its commands, and the commands as a script again.

Parses just enough to reorder statements: where each command begins and ends, and which variables it
sets and uses. The engine decides whether a command is valid.
"""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from dbdyno.engine import tokens

_META = re.compile(r"\\(?:[^\n]*\\\n)*[^\n]*")
_USED = re.compile(r"(?<![:\w]):([A-Za-z_]\w*)")
_SET = re.compile(r"\s*\\set(?:text)?\s+(\w+)")
_RESULT = re.compile(r"\\[ga]set\b")


class Command(Struct, frozen=True):
    """One command as it was written, with the comments before it in ``lead``."""

    lead: str
    text: str

    @property
    def is_sql(self) -> bool:
        """Whether it is sent to the server."""
        return not self.text.startswith("\\")

    @property
    def verb(self) -> str:
        r"""Its first word: ``update``, ``\set``."""
        return self.text.split(None, 1)[0].rstrip(";").lower()

    @property
    def used(self) -> set[str]:
        """The variables that it reads."""
        return set(_USED.findall(self.text))

    @property
    def assigned(self) -> set[str]:
        r"""Variables of ``\set`` and ``\settext``; those of ``\gset`` only the result names."""
        found = _SET.match(self.text)
        return {found[1]} if found else set()

    @property
    def keeps_answer(self) -> bool:
        r"""Whether it sets variables from its result, by ``\gset`` or ``\aset``."""
        return self.is_sql and bool(_RESULT.search(self.text))


def commands(script: str) -> list[Command]:
    """The commands in the order of the script; a comment at its end is dropped."""
    return list(_commands(script))


def script_of(found: Iterable[Command]) -> str:
    """The commands as a script, one per line."""
    return "".join(f"{one.lead}{one.text}\n" for one in found)


def depend_on(variable: str, names: Iterable[str], script: str) -> bool:
    """Whether the script computes one of these from the variable, in any number of steps."""
    needed = set(names)
    for command in reversed(commands(script)):
        if command.assigned & needed:
            needed |= command.used
    return variable in needed


def _commands(script: str) -> Iterator[Command]:
    place = 0
    while place < len(script):
        begin = _begin_of(script, place)
        lead = script[place:begin].strip()
        place = _end_of(script, begin)
        if text := script[begin:place].strip():
            yield Command(f"{lead}\n" if lead else "", text)


def _begin_of(script: str, place: int) -> int:
    """Where the next command begins: after white space and comments."""
    for token in tokens(script[place:], "standard"):
        if token.kind not in ("space", "comment"):
            break
        place += len(token.text)
    return place


def _end_of(script: str, begin: int) -> int:
    """The end of the command that begins here."""
    meta = _META.match(script, begin)
    if meta:
        return meta.end()
    end = begin
    for token in tokens(script[begin:], "standard"):
        is_joined = script.endswith("\\", begin, end)  # `\;` joins two statements
        if token.text == "\\" and not script.startswith("\\;", end):
            # `\gset` takes the semicolon's place.
            ended = _META.match(script, end)
            return ended.end() if ended else end
        end += len(token.text)
        if token.text == ";" and not is_joined:
            return end
    return len(script)
