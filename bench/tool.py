"""A load generator as the bench sees it, dbdyno included. Each is declared in its own file."""

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Endpoint


@dataclass(frozen=True)
class Load:
    """A load in one tool's own options, and the numbers that all tools have."""

    options: tuple[str, ...]
    clients: int
    threads: int
    """Of a peer; dbdyno chooses its own number."""
    seconds: int


@dataclass(frozen=True)
class Outcome:
    """What a tool reports about its own run."""

    tps: float
    transactions: int
    failed: int

    @property
    def load_s(self) -> float:
        """The length of the load that the tool divided by."""
        if self.transactions == 0:
            result = f"the tool completed no transaction ({self.failed} failed)"
            raise DbdynoError("tool_idle", result, "check the server, or make the run longer")
        return self.transactions / self.tps


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A program that drives a load.

    ``find`` is where its program is, or an error; ``arguments`` are the arguments of a run, and
    ``read`` understands what it printed.
    """

    name: str
    find: Callable[[], str]
    arguments: Callable[[Load, Endpoint], list[str]]
    read: Callable[[str], Outcome]

    def command(self, load: Load, endpoint: Endpoint) -> list[str]:
        """The command line of a run."""
        return [self.find(), *self.arguments(load, endpoint)]


def on_path(name: str, package: str) -> Callable[[], str]:
    """Finds an installed program; otherwise the error names its package."""

    def find() -> str:
        path = shutil.which(name)
        if path is None:
            hint = f"apt-get install {package}"
            raise DbdynoError("no_peer", f"{name} is not on PATH", hint)
        return path

    return find


def dbdyno_path() -> str:
    """Our own command."""
    return str(Path(sys.executable).with_name("dbdyno"))


def match_line(pattern: str, out: str) -> re.Match[str]:
    """The match in a tool's output; an error with the whole output if there is none."""
    found = re.search(pattern, out, re.MULTILINE)
    if found is None:
        raise DbdynoError("peer_unclear", f"it did not print {pattern}", out.strip())
    return found
