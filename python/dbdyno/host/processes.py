"""The host's processes, as listed in ``/proc``, and their parents and children.

A process whose files cannot be read has exited: that is normal, not an error. What exited processes
used is not lost if the kernel adds it to the parent that waited for them.
"""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path

from msgspec import Struct

from dbdyno.host import files
from dbdyno.host.describe import ROOT

TICK_US = 1_000_000 // os.sysconf("SC_CLK_TCK")

# The list is reused for this time: sources that are read in sequence share it.
_FRESH_S = 0.5

# Flags of a process, from the kernel's include/linux/sched.h.
_PF_EXITING = 0x4
_PF_KTHREAD = 0x200000


class Used(Struct, frozen=True):
    """What a process, or several, used so far."""

    user_us: int = 0
    system_us: int = 0
    minor_faults: int = 0
    major_faults: int = 0

    def __add__(self, other: "Used") -> "Used":
        """Return the sum of both."""
        return Used(
            self.user_us + other.user_us,
            self.system_us + other.system_us,
            self.minor_faults + other.minor_faults,
            self.major_faults + other.major_faults,
        )

    @property
    def cpu_us(self) -> int:
        """User and system time."""
        return self.user_us + self.system_us


class Process(Struct, frozen=True):
    """One process at one instant."""

    pid: int
    name: str
    state: str
    parent: int
    threads: int
    started: int
    """Ticks since boot: together with the number it identifies a process for good."""
    ending: bool
    """Whether it is exiting, or waits to be reaped."""
    of_kernel: bool
    """Whether it is a thread of the kernel, which works for all programs."""
    used: Used
    buried: Used
    """What the exited children that it has waited for had used, and theirs."""


def running_ns(root: Path, task: int) -> int | None:
    """Return the CPU time of a process's first thread, or of any thread; None once it has ended."""
    try:
        return int(files.short(f"{root}/proc/{task}/schedstat").split()[0])
    except OSError:
        return None


def read_process(root: Path, pid: int | str) -> Process | None:
    """Read a process; None if there is none with this number."""
    try:
        line = files.short(f"{root}/proc/{pid}/stat")
    except OSError:
        return None
    # The name is in parentheses and may itself contain spaces and parentheses.
    name_begin, name_end = line.index(b"(") + 1, line.rindex(b")")
    fields = line[name_end + 2 :].split(None, 20)
    minor, minor_buried, major, major_buried, user, system, user_buried, system_buried = map(
        int, fields[7:15]
    )
    return Process(
        pid=int(pid),
        name=line[name_begin:name_end].decode(errors="replace"),
        state=fields[0].decode(),
        parent=int(fields[1]),
        threads=int(fields[17]),
        started=int(fields[19]),
        ending=bool(int(fields[6]) & _PF_EXITING),
        of_kernel=bool(int(fields[6]) & _PF_KTHREAD),
        used=Used(user * TICK_US, system * TICK_US, minor, major),
        buried=Used(user_buried * TICK_US, system_buried * TICK_US, minor_buried, major_buried),
    )


class ProcessTable:
    """All processes: each is read when it is new, and again on request.

    The tree seldom changes, and most processes are not needed each time: on a host with five
    hundred backends, reading all of them takes as long as all other sources together.
    """

    def __init__(self, root: Path = ROOT, clock: Callable[[], float] = time.monotonic) -> None:
        self.root = root
        self._clock = clock
        self._listed_at = -_FRESH_S
        self._processes: dict[int, Process] = {}
        self._children: Mapping[int, list[int]] = {}

    def listed(self, *, fresh: bool = False) -> Mapping[int, Process]:
        """Return all processes by number, as last read; ``fresh`` refuses a reused list."""
        if fresh or self._clock() - self._listed_at >= _FRESH_S:
            there = {int(name) for name in files.names(f"{self.root}/proc") if name.isdigit()}
            if there != self._processes.keys():  # which is rare
                self._change(there)
            self._listed_at = self._clock()
        return self._processes

    def _change(self, there: Set[int]) -> None:
        for gone in self._processes.keys() - there:
            del self._processes[gone]
        for new in sorted(there - self._processes.keys()):
            self._read(new)
        self._children = _by_parent(self._processes.values())

    def tree(self, first: int, *, fresh: bool = False) -> list[Process]:
        """Return a process and all its descendants as last read, itself first; empty without it."""
        processes = self.listed(fresh=fresh)
        found = [processes[first]] if first in processes else []
        for process in found:  # the list grows during the loop
            below = self._children.get(process.pid, ())
            found += [processes[pid] for pid in below if pid in processes]
        return found

    def again(self, listed: Iterable[Process]) -> list[Process]:
        """Read these again, and leave out those that have ended; a number may have been reused."""
        found = [(before, self._read(before.pid)) for before in tuple(listed)]
        return [now for before, now in found if now and now.started == before.started]

    def _read(self, pid: int) -> Process | None:
        process = read_process(self.root, pid)
        if process is None:
            self._processes.pop(pid, None)
        else:
            known = self._processes.get(pid)
            self._processes[pid] = process
            if known and known.parent != process.parent:  # another process with the same number
                self._children = _by_parent(self._processes.values())
        return process


def _by_parent(processes: Iterable[Process]) -> Mapping[int, list[int]]:
    children = defaultdict(list)
    for process in processes:
        children[process.parent].append(process.pid)
    return children
