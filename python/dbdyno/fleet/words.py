"""Where the engines of a load run, as ``--workers`` says it.

``local*4,exec:'CMD'``: an entry is a kind of place, and how many agents it has.
"""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

OnLost: TypeAlias = Literal["stop", "continue"]

AGENT = Path(__file__).parents[1] / "agent.py"
"""The agent's program, whose module loads the engine."""
COUNT_MAX = 10_000
KINDS = "local, exec:'COMMAND'"


@dataclass(frozen=True)
class Place:
    """Where one agent runs: what it is called in results, and the command that starts it."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """One entry of ``--workers``, as it was written."""

    kind: str
    detail: str
    count: int


@dataclass(frozen=True)
class Workers:
    """The entries of ``--workers``."""

    text: str
    entries: tuple[Entry, ...]

    def __str__(self) -> str:
        """Return it as it was written."""
        return self.text

    @property
    def has_counts(self) -> bool:
        """Whether the agents have equal shares of the load, instead of one for each CPU."""
        return any(entry.count > 1 for entry in self.entries)

    def places(self) -> list[Place]:
        """Return the places of all agents, in order; each name is another one."""
        found: list[Place] = []
        for entry in (its for its in self.entries for _ in range(its.count)):
            number = len(found) + 1
            command: tuple[str, ...] = ("/bin/sh", "-c", entry.detail.replace("{n}", str(number)))
            if entry.kind == "local":
                command = (sys.executable, "-I", "-S", str(AGENT))
            found.append(Place(f"{entry.kind}-{number}", command))
        return found


def worker_list(text: str) -> Workers:
    """Parse ``--workers``; a shell's quotes keep commas together."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = ",", True, ""
    try:
        words = list(lexer)
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from error
    entries = tuple(map(_entry, words))
    if not entries:
        raise ValueError(f"no workers: write {KINDS}, each with *N for N agents")
    if sum(entry.count for entry in entries) > COUNT_MAX:
        raise ValueError(f"{text!r}: more than {COUNT_MAX} agents")
    return Workers(text, entries)


def _entry(word: str) -> Entry:
    kind, colon, detail = word.strip().partition(":")
    if kind.partition("*")[0] == "local" and not colon:
        name, star, number = kind.partition("*")
        return Entry(name, "", _count(word, star, number))
    if kind == "exec" and detail:
        head, star, number = detail.rpartition("*")
        if star and number.isdigit():
            return Entry(kind, head, _count(word, star, number))
        return Entry(kind, detail, 1)
    raise ValueError(f"{word!r}: write {KINDS}, each with *N for N agents")


def _count(word: str, star: str, number: str) -> int:
    if not star:
        return 1
    if not number.isdigit() or int(number) == 0:
        raise ValueError(f"{word!r}: *N needs a number above 0")
    return int(number)
