"""What is observed of this host during one run: which processes, and which folders.

Contains what the sources must remember between readings; does no timing and writes nothing. How
each source is read is defined in ``sources/``.
"""

import os
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from dbdyno.host import disk, sources
from dbdyno.host.describe import ROOT
from dbdyno.host.group import ProcessGroup
from dbdyno.host.processes import Process, ProcessTable
from dbdyno.host.task_times import TaskTimes
from dbdyno.model.source import Missing, Numbers, Source
from dbdyno.registry import declared

SHARE_MIN = 0.05
"""The share of one core: periods in which a process uses less are left out."""


class ServerEndedError(Exception):
    """The server's first process, which was observed, does not exist any more."""


class MonotonicCounters:
    """Makes kernel counters monotonic that fall although they were not reset.

    Remembers them by a key of the caller's choice.
    """

    def __init__(self) -> None:
        self._largest: dict[Hashable, float] = {}
        self._last: dict[Hashable, int] = {}
        self._turns: dict[Hashable, int] = {}

    def held(self, key: Hashable, value: float) -> float:
        """Return the largest value so far, for sums that the kernel sometimes reduces slightly."""
        self._largest[key] = max(value, self._largest.get(key, value))
        return self._largest[key]

    def unwrapped(self, key: Hashable, value: int, modulus: int) -> int:
        """Return the counter as if it did not wrap to 0 at ``modulus``.

        A counter that falls from its lower half was reset, which remains visible.
        """
        last = self._last.get(key, value)
        self._last[key] = value
        if value < last and last >= modulus // 2:
            self._turns[key] = self._turns.get(key, 0) + 1
        return value + self._turns.get(key, 0) * modulus


class OtherProcesses:
    """Busy processes outside the run: adds up the time that each used while it was busy.

    Only a process's own CPU time counts; many short-lived ones (a compiler's) appear only in the
    totals of the host.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._read_at: float | None = None
        self._used_us: dict[tuple[int, int], int] = {}
        self._busy_us: dict[tuple[int, int], int] = {}

    def read(self, processes: Iterable[Process]) -> dict[str, int]:
        """Return each process's busy microseconds by ``name/number``.

        A process that was never busy has 0, so that its first busy period counts as an increase,
        too.
        """
        now = self._clock()
        elapsed_us = (now - self._read_at) * 1e6 if self._read_at is not None else float("inf")
        strangers = {(p.pid, p.started): p for p in processes}
        used_us = {key: process.used.cpu_us for key, process in strangers.items()}
        grown_us = {key: us - self._used_us.get(key, 0) for key, us in used_us.items()}
        self._busy_us = {
            key: self._busy_us.get(key, 0) + (us if us > SHARE_MIN * elapsed_us else 0)
            for key, us in grown_us.items()
        }
        self._used_us = used_us
        self._read_at = now
        return {f"{p.name}/{p.pid}": self._busy_us[key] for key, p in strangers.items()}


@dataclass(kw_only=True)
class ObservedHost:
    """The host below ``root``.

    ``groups`` are the processes of the run by role: ``server`` if it runs on this host, ``engine``,
    ``dbdyno``. A server that is started again is another process, which is not followed.
    ``folders`` are where the server stores its data and log.
    """

    groups: dict[str, ProcessGroup]
    folders: tuple[Path, ...] = ()
    server_tasks: TaskTimes | None = None
    """The server's processes by class, if they can be told apart."""
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
        return disk.disks_below(self.root, self.folders)


def observe(  # noqa: PLR0913 - independent inputs
    server: int | None,
    engines: Sequence[int],
    folders: Iterable[Path],
    *,
    further_servers: Sequence[int] = (),
    carriers: Sequence[int] = (),
    root: Path = ROOT,
) -> ObservedHost:
    """Return what to observe: the servers and the engines with their descendants, and ourselves.

    ``carriers``, which carry the frames of engines elsewhere, count as a part of dbdyno itself.
    """
    firsts = {
        "server": () if server is None else (server,),
        "further_servers": further_servers,
        "engine": engines,
    }
    groups = {name: ProcessGroup(*numbers) for name, numbers in firsts.items() if numbers}
    # The engine and a private server are descendants of this process, but are counted separately.
    groups["dbdyno"] = ProcessGroup(os.getpid(), *carriers, alone=True)
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
    return declared(sources, "SOURCE")


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
