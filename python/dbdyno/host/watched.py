"""What is watched of this machine during one run: whose processes, and which folders.

Holds what the sources must remember from one reading to the next; keeps no time and writes
nothing. How each source is read stands in ``sources/``.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from dbdyno.host import devices, sources
from dbdyno.host.describe import ROOT
from dbdyno.host.group import ProcessGroup
from dbdyno.host.monotonic_counters import MonotonicCounters
from dbdyno.host.other_processes import OtherProcesses
from dbdyno.host.processes import ProcessTable
from dbdyno.model.source import Missing, Source


@dataclass(kw_only=True)
class WatchedHost:
    """The machine below ``root``.

    ``groups`` are the processes of the run by what they are to it: ``server`` where it runs
    on this machine, ``engine``, ``dbdyno``. A group may be put in place of another, when a
    server has been started anew. ``folders`` are where the server keeps data and log.
    """

    groups: dict[str, ProcessGroup]
    folders: tuple[Path, ...] = ()
    root: Path = ROOT
    continuity: MonotonicCounters = field(default_factory=MonotonicCounters, init=False)
    others: OtherProcesses = field(default_factory=OtherProcesses, init=False)

    @cached_property
    def processes(self) -> ProcessTable:
        """All processes of the machine."""
        return ProcessTable(self.root)

    @cached_property
    def disks(self) -> set[str]:
        """The kernel's names of the disks below the folders."""
        return devices.disks_below(self.root, self.folders)


def watch(
    server: int | None, engine: int | None, folders: Iterable[Path], root: Path = ROOT
) -> WatchedHost:
    """Follows the server and the engine from their first processes on, and ourselves."""
    firsts = {"server": server, "engine": engine}
    groups = {name: ProcessGroup(first) for name, first in firsts.items() if first is not None}
    # The engine and a private server are below us: each counts for itself.
    groups["dbdyno"] = ProcessGroup(os.getpid(), alone=True)
    return WatchedHost(groups=groups, folders=tuple(folders), root=root)


def nothing_lacks(_host: WatchedHost) -> str | None:
    """Of sources that every Linux has."""
    return None


@dataclass(frozen=True, kw_only=True)
class HostSource(Source[WatchedHost]):
    """A source that declares itself, for the manual too.

    ``lack`` says in words why it cannot be read here, if that is so. Half of what a server's source
    may take: there are more of them, and each that lists processes is dear.
    """

    watches: str
    objects: str
    counters: frozenset[str]
    files: str
    share_max: float = 0.0005
    lack: Callable[[WatchedHost], str | None] = nothing_lacks


def all_sources() -> dict[str, HostSource]:
    """Every source, each from the module of its name in ``sources``."""
    names = sorted(module.name for module in iter_modules(sources.__path__))
    return {name: import_module(f"{sources.__name__}.{name}").SOURCE for name in names}


def host_sources(host: WatchedHost) -> tuple[list[Source[WatchedHost]], list[Missing]]:
    """What can be read on this machine, and what cannot, with reasons."""
    found: list[Source[WatchedHost]] = []
    missing = []
    for source in all_sources().values():
        if reason := source.lack(host):
            missing.append(Missing(source.name, reason))
        else:
            found.append(source)
    return found, missing
