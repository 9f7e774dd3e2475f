r"""A script in pgbench's language as its commands, and the commands as a script again.

Parses just enough to reorder statements: where each command begins and ends, and which variables it
sets and uses. The engine decides whether a command is valid.
"""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

# Strings, quoted names and comments contain no end of a command; `\;` joins two statements.
_TOKEN = re.compile(
    r"'(?:[^']|'')*'|\"[^\"]*\"|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/|\\;|.", re.DOTALL
)
_META = re.compile(r"\\(?:[^\n]*\\\n)*[^\n]*")
_QUIET = re.compile(r"(?:\s+|--[^\n]*\n?|/\*.*?\*/)+", re.DOTALL)
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
        quiet = _QUIET.match(script, place)
        lead = quiet[0].strip() if quiet else ""
        begin = quiet.end() if quiet else place
        place = _end_of(script, begin)
        if text := script[begin:place].strip():
            yield Command(f"{lead}\n" if lead else "", text)


def _end_of(script: str, begin: int) -> int:
    """The end of the command that begins here."""
    meta = _META.match(script, begin)
    if meta:
        return meta.end()
    for token in _TOKEN.finditer(script, begin):
        if token[0] == ";":
            return token.end()
        if token[0] == "\\":  # \gset takes the semicolon's place
            ended = _META.match(script, token.start())
            return ended.end() if ended else token.end()
    return len(script)
