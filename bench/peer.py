"""A tool to compare with, as the bench sees it. Each is declared in its own file."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass

from bench.tools import Load, Outcome, Sample, tree_cpu_s
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Endpoint
from dbdyno.servers.base import Server


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A tool, and the data that it and dbdyno share.

    ``find`` is where its program is, or an error; ``prepare`` loads the data once; ``settle``
    brings it to the state that every run starts from. ``arguments`` are the arguments of a run, and
    ``read`` understands what it printed.
    """

    name: str
    find: Callable[[], str]
    prepare: Callable[[Endpoint], None]
    settle: Callable[[Server], None]
    arguments: Callable[[Load, Endpoint], list[str]]
    read: Callable[[str], Outcome]

    def run(self, load: Load, endpoint: Endpoint, cpus: str | None = None) -> Sample:
        """One run of it."""
        out, cpu_s, _ = tree_cpu_s([self.find(), *self.arguments(load, endpoint)], cpus)
        return Sample.of(self.read(out), cpu_s)


def on_path(name: str, package: str) -> Callable[[], str]:
    """Finds an installed program; otherwise the error names its package."""

    def find() -> str:
        path = shutil.which(name)
        if path is None:
            hint = f"apt-get install {package}"
            raise DbdynoError("no_peer", f"{name} is not on PATH", hint)
        return path

    return find


def match_line(pattern: str, out: str) -> re.Match[str]:
    """The match in a tool's output; an error with the whole output if there is none."""
    found = re.search(pattern, out, re.MULTILINE)
    if found is None:
        raise DbdynoError("peer_unclear", f"it did not print {pattern}", out.strip())
    return found
