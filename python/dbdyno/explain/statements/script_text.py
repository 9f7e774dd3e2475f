r"""A script in pgbench's language as its commands, and the commands as a script again.

Parses just enough to reorder statements: where each command begins and ends, and which variables it
sets and uses. The engine decides whether a command is valid.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from dbdyno.engine import Dialect, tokens
from dbdyno.explain.statements.sql import Sql

_META = re.compile(r"\\(?:[^\n]*\\\n)*[^\n]*")
_SET = re.compile(r"\s*\\set(?:text)?\s+(\w+)")
_RESULT = re.compile(r"\\[ga]set\b")


class Command(Struct, frozen=True):
    """One command as it was written, with the comments before it in ``lead``."""

    lead: str
    text: str
    dialect: Dialect

    @property
    def sql(self) -> Sql:
        """Its text by the grammar of the server, as far as it is sent there."""
        return Sql(self.text, self.dialect)

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
        return self.sql.used_variables

    @property
    def assigned(self) -> set[str]:
        r"""Variables of ``\set`` and ``\settext``; those of ``\gset`` only the result names."""
        found = _SET.match(self.text)
        return {found[1]} if found else set()

    @property
    def keeps_answer(self) -> bool:
        r"""Whether it sets variables from its result, by ``\gset`` or ``\aset``."""
        return self.is_sql and bool(_RESULT.search(self.text))


def commands(script: str, dialect: Dialect = "standard") -> list[Command]:
    """The commands in the order of the script; a comment at its end is dropped."""
    found: list[Command] = []
    place = 0
    while place < len(script):
        begin = _begin_of(script, place, dialect)
        lead = script[place:begin].strip()
        place = _end_of(script, begin, dialect)
        if text := script[begin:place].strip():
            found.append(Command(f"{lead}\n" if lead else "", text, dialect))
    return found


def script_of(found: Iterable[Command]) -> str:
    """The commands as a script, one per line."""
    return "".join(f"{one.lead}{one.text}\n" for one in found)


def depend_on(variable: str, names: Iterable[str], script: Sequence[Command]) -> bool:
    """Whether the script computes one of these from the variable, in any number of steps."""
    needed = set(names)
    for command in reversed(script):
        if command.assigned & needed:
            needed |= command.used
    return variable in needed


def _begin_of(script: str, place: int, dialect: Dialect) -> int:
    """Where the next command begins: after white space and comments."""
    for token in tokens(script[place:], dialect):
        if token.kind not in ("space", "comment"):
            break
        place += len(token.text)
    if script.startswith("--", place):  # no comment to MySQL, but to the engine
        after = (script + "\n").index("\n", place)
        return _begin_of(script, after, dialect)
    return place


def _end_of(script: str, begin: int, dialect: Dialect) -> int:
    """The end of the command that begins here."""
    meta = _META.match(script, begin)
    if meta:
        return meta.end()
    end = begin
    for token in tokens(script[begin:], dialect):
        is_joined = script.endswith("\\", begin, end)  # `\;` joins two statements
        if token.text == "\\" and not script.startswith("\\;", end):
            # `\gset` takes the semicolon's place.
            ended = _META.match(script, end)
            return ended.end() if ended else end
        end += len(token.text)
        if token.text == ";" and not is_joined:
            return end
    return len(script)
