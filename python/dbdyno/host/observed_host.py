"""What is observed of this host during one run: which processes, and which folders.

Contains what the sources must remember between readings; does no timing and writes nothing. How
each source is read is defined in ``sources/``.
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
from dbdyno.model.source import Missing, Numbers, Source


class ServerEndedError(Exception):
    """The server's first process, which was observed, does not exist any more."""


@dataclass(kw_only=True)
class ObservedHost:
    """The host below ``root``.

    ``groups`` are the processes of the run by role: ``server`` if it runs on this host, ``engine``,
    ``dbdyno``. A server that is started again is another process, which is not followed.
    ``folders`` are where the server stores its data and log.
    """

    groups: dict[str, ProcessGroup]
    folders: tuple[Path, ...] = ()
    root: Path = ROOT
    continuity: MonotonicCounters = field(default_factory=MonotonicCounters, init=False)
    others: OtherProcesses = field(default_factory=OtherProcesses, init=False)

    @cached_property
    def processes(self) -> ProcessTable:
        """All processes of the host."""
        return ProcessTable(self.root)

    def of_each_group(
        self, read: Callable[[ProcessGroup, ProcessTable], dict[str, float]]
    ) -> dict[str, Numbers]:
        """Return the sums of each group that has not ended.

        Raise ServerEndedError if the server has ended since it was first read: what it used since
        the last reading is lost, and nothing must look as if it had used nothing.
        """
        sums = {name: read(group, self.processes) for name, group in self.groups.items()}
        if "server" in sums and not sums["server"] and self.groups["server"].was_seen:
            raise ServerEndedError("the server's process has ended")
        return {name: numbers for name, numbers in sums.items() if numbers}

    @cached_property
    def disks(self) -> set[str]:
        """The kernel's names of the disks below the folders."""
        return devices.disks_below(self.root, self.folders)


def observe(
    server: int | None, engine: int | None, folders: Iterable[Path], root: Path = ROOT
) -> ObservedHost:
    """Return what to observe: the server and the engine with their descendants, and ourselves."""
    firsts = {"server": server, "engine": engine}
    groups = {name: ProcessGroup(first) for name, first in firsts.items() if first is not None}
    # The engine and a private server are descendants of this process, but are counted separately.
    groups["dbdyno"] = ProcessGroup(os.getpid(), alone=True)
    return ObservedHost(groups=groups, folders=tuple(folders), root=root)


def always_available(_host: ObservedHost) -> str | None:
    """Return None: every Linux has this source."""
    return None


@dataclass(frozen=True, kw_only=True)
class HostSource(Source[ObservedHost]):
    """A source that declares itself, for the manual too.

    ``lack`` returns why it cannot be read here, or None. ``share_max`` is half of that of a
    server's source: there are more of them, and each that lists processes is expensive.
    """

    watches: str
    objects: str
    counters: frozenset[str]
    files: str
    share_max: float = 0.0005
    lack: Callable[[ObservedHost], str | None] = always_available


def all_sources() -> dict[str, HostSource]:
    """Return every source by name, which is that of its module in ``sources``."""
    names = sorted(module.name for module in iter_modules(sources.__path__))
    return {name: import_module(f"{sources.__name__}.{name}").SOURCE for name in names}


def host_sources(host: ObservedHost) -> tuple[list[Source[ObservedHost]], list[Missing]]:
    """Return what can be read on this host, and what cannot, with reasons."""
    found: list[Source[ObservedHost]] = []
    missing = []
    for source in all_sources().values():
        if reason := source.lack(host):
            missing.append(Missing(source.name, reason))
        else:
            found.append(source)
    return found, missing
