"""Processes that are observed as one: a server with its backends, the engines, dbdyno itself.

Their sums never fall. The kernel adds the CPU time, page faults and bytes of exited processes to
the parent that waited for them. It does not do so with context switches and run-queue time: what a
process had when it was last read remains in the sum, but what it used later is missing, and so is
all of a process that lived between two readings. If connections come and go, these are lower
bounds.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct, structs

from dbdyno.host import files
from dbdyno.host.processes import Process, ProcessTable, Used, read_process

# A child that is reaped while the others are read would be missing from the sum. The reading is
# therefore repeated, but not for ever if connections come and go all the time.
_TRIES = 3

# Consecutive lines, matched at once: matching each separately would take ten times as long.
_MEMORY = re.compile(rb"\nRssAnon:\s*(\d+) kB\nRssFile:.*\nRssShmem:\s*(\d+) kB")
_SWITCHES = re.compile(rb"\nvoluntary_ctxt_switches:\s*(\d+)\nnonvoluntary_ctxt_switches:\s*(\d+)")


class _Turns(Struct, frozen=True):
    """The scheduling counters of one thread, or of several."""

    voluntary: int = 0
    involuntary: int = 0
    queued_ns: int = 0

    def __add__(self, other: "_Turns") -> "_Turns":
        return _Turns(
            self.voluntary + other.voluntary,
            self.involuntary + other.involuntary,
            self.queued_ns + other.queued_ns,
        )


_Thread = tuple[int, int, str]
"""The process's number, its start time, and the thread's number: unique to a thread."""


class _Reading(Struct):
    """What one reading found in the files of single processes."""

    turns: dict[_Thread, _Turns] = {}
    cpu_us: float = 0
    private_bytes: int = 0
    shared_bytes: int = 0
    """That of the process that has mapped the most: all have mapped the same memory."""


class ProcessGroup:
    """The processes with these numbers and all their descendants, each of them once.

    With ``alone``, the descendants of the first one do not belong to it. It lasts as long as one of
    the processes does: what another one had used when it was last read stays in the sums.
    """

    def __init__(self, first: int, *further: int, alone: bool = False) -> None:
        self.first = first
        self._numbers = (first, *further)
        self._alone = alone
        self._started: dict[int, int] = {}
        """When the process of each number was started: the number may be reused."""
        self._named: dict[int, Process] = {}
        """Those with the group's own numbers, as they were last read."""
        self._ended = Used()
        """What such processes had used that have ended."""
        self._seen: dict[_Thread, _Turns] = {}
        self._gone = _Turns()
        self._largest: dict[str, float] = {}

    @property
    def was_seen(self) -> bool:
        """Whether any of its processes was there in an earlier reading."""
        return bool(self._started)

    def members(self, table: ProcessTable, *, fresh: bool = False) -> list[Process]:
        """Return the members as last read; empty once all of its processes have ended."""
        listed = table.listed(fresh=fresh)
        found: dict[int, Process] = {}
        for process in table.again(listed[pid] for pid in self._numbers if pid in listed):
            if self._started.setdefault(process.pid, process.started) == process.started:
                tree = table.tree(process.pid) if self._has_descendants(process) else [process]
                found |= {its.pid: its for its in tree}
        return list(found.values())

    def _has_descendants(self, process: Process) -> bool:
        return not self._alone or process.pid != self.first

    def _now(self, table: ProcessTable) -> list[Process]:
        """Return the current members, all read while none of them was reaped."""
        found: list[Process] = []
        named: dict[int, Process] = {}
        for tried in range(_TRIES):
            found = table.again(self.members(table, fresh=tried > 0))
            named = {its.pid: its for its in found if its.pid in self._numbers}
            parents = [its for its in named.values() if self._has_descendants(its)]
            if [its.buried for its in table.again(parents)] == [its.buried for its in parents]:
                break  # none of them has reaped a child since it was read
        self._keep_what_ended(found, named)
        return found if named else []

    def _keep_what_ended(self, members: list[Process], named: dict[int, Process]) -> None:
        """Keep what those had used that have ended, unless a member has waited for them."""
        counting = {its.pid for its in members if self._has_descendants(its)}
        for pid, process in self._named.items():
            if pid not in named and process.parent not in counting:
                self._ended += process.used
                self._ended += process.buried if self._has_descendants(process) else Used()
        self._named = named

    def read(self, table: ProcessTable) -> dict[str, float]:
        """Return the sums and levels of the group; empty once it has ended."""
        members = self._now(table)
        if not members:
            return {}
        reading = _read(table.root, members)
        buried = sum((its.buried for its in members if self._has_descendants(its)), self._ended)
        used = sum((its.used for its in members), buried)
        counters = {
            **structs.asdict(used),
            "cpu_us": reading.cpu_us + buried.cpu_us,
            **self._scheduled(reading.turns, table.root),
        }
        return self._held(counters) | {
            "count": len(members),
            "running": _in_state(members, "R"),
            "waiting_for_disk": _in_state(members, "D"),
            "stopped": _in_state(members, "Tt"),
            "memory_bytes": reading.private_bytes + reading.shared_bytes,
        }

    def bytes_read(self, table: ProcessTable) -> dict[str, float]:
        """Return the bytes read from storage; empty once it has ended.

        Raise PermissionError if we may not read them. The kernel itself adds those of reaped
        children to the parent's.
        """
        readings = [_bytes_read(table.root, process) for process in self.members(table)]
        known = [each for each in readings if each is not None]
        return self._held({"read_bytes": sum(known)}) if known else {}

    def _scheduled(self, turns: dict[_Thread, _Turns], root: Path) -> dict[str, float]:
        for thread in self._seen.keys() - turns.keys():
            self._gone += self._seen[thread]
        self._seen = turns
        total = sum(turns.values(), self._gone)
        switches = {
            "voluntary_switches": total.voluntary,
            "involuntary_switches": total.involuntary,
        }
        is_queue_reported = (root / "proc/self/schedstat").exists()
        return switches | ({"run_queue_us": total.queued_ns / 1000} if is_queue_reported else {})

    def _held(self, counters: dict[str, float]) -> dict[str, float]:
        """Return the largest values so far: a child that has just exited lowers a sum briefly."""
        held = {name: max(value, self._largest.get(name, 0)) for name, value in counters.items()}
        self._largest |= held
        return held


def _in_state(members: Iterable[Process], states: str) -> int:
    return sum(process.state in states for process in members)


def _read(root: Path, members: Iterable[Process]) -> _Reading:
    reading = _Reading()
    for process in members:
        private = shared = ran_ns = 0
        for thread, folder in _threads(root, process):
            try:
                status = files.short(f"{folder}/status")
            except OSError:
                continue  # it has just ended
            voluntary, involuntary = _pair(_SWITCHES, status)
            ran_ns, queued_ns = _scheduled_ns(folder)
            turns = _Turns(voluntary, involuntary, queued_ns)
            reading.turns[(process.pid, process.started, thread)] = turns
            # Every thread reports the memory of its process.
            private, shared = _pair(_MEMORY, status)
        # The kernel rounds a process's times down to ticks, but not a thread's. Only processes have
        # those of threads that have ended.
        is_exact = process.threads == 1
        reading.cpu_us += max(process.used.cpu_us, ran_ns / 1000 if is_exact else 0)
        reading.private_bytes += private * 1024
        reading.shared_bytes = max(reading.shared_bytes, shared * 1024)
    return reading


def _pair(pattern: re.Pattern[bytes], status: bytes) -> tuple[int, int]:
    found = pattern.search(status)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _scheduled_ns(folder: str) -> tuple[int, int]:
    """Return how long the thread has run, and was runnable without a CPU; 0 if not reported."""
    try:
        ran, queued = files.short(f"{folder}/schedstat").split()[:2]
    except OSError:
        return 0, 0
    return int(ran), int(queued)


def _threads(root: Path, process: Process) -> Iterator[tuple[str, str]]:
    """Yield the number and folder of each thread; for a single one without reading the list."""
    folder = f"{root}/proc/{process.pid}"
    if process.threads == 1:
        yield str(process.pid), folder
        return
    yield from ((name, f"{folder}/task/{name}") for name in files.names(f"{folder}/task"))


def _bytes_read(root: Path, process: Process) -> int | None:
    try:
        content = files.short(f"{root}/proc/{process.pid}/io")
    except (FileNotFoundError, ProcessLookupError):
        return None  # it has just ended
    except PermissionError:
        now = read_process(root, process.pid)
        if now is None or now.ending:
            return None  # only root may read a process that is about to end, whoever owns it
        raise
    return int(dict(line.split(b": ") for line in content.splitlines())[b"read_bytes"])
