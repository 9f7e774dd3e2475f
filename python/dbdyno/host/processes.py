"""Processor time of a server's processes, from outside."""

import os
from collections.abc import Iterator
from pathlib import Path

from dbdyno.host import files
from dbdyno.host.describe import ROOT


def cpu_us(parent: int, root: Path = ROOT) -> int | None:
    """User and system time so far of a process, its children, and those it has buried.

    PostgreSQL's backends are children of its first process. None when it is not there.
    """
    ticks = [
        own + (buried if pid == parent else 0)
        for pid, of, own, buried in _processes(root)
        if parent in (pid, of)
    ]
    return sum(ticks) * 1_000_000 // os.sysconf("SC_CLK_TCK") if ticks else None


def _processes(root: Path) -> Iterator[tuple[int, int, int, int]]:
    """Number, parent, own time and time of dead children of each, in clock ticks."""
    for folder in (root / "proc").glob("[0-9]*"):
        line = files.text(folder / "stat")
        if line:
            # The name stands in brackets and may hold blanks and brackets itself.
            fields = line[line.rindex(")") + 2 :].split()
            own, buried = (int(fields[n]) + int(fields[n + 1]) for n in (11, 13))
            yield int(folder.name), int(fields[1]), own, buried
