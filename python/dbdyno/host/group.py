"""Processes that are watched as one: a server with its backends, the engine, ourselves.

Their sums never fall. Processor time, faults and bytes of processes that ended are kept by
the kernel with the parent that buried them. Switches and time in the run queue are not: what
a process was last seen with stays in the sum, so that what it took after is missing, and all
of one that lived between two readings. Where connections come and go these are lower bounds.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from dbdyno.host import files
from dbdyno.host.processes import Process, ProcessTable, Used, read_process

# A child that is buried while the others are read would be missing from the sum. So the
# reading is repeated, though not for ever where connections come and go all the time.
_TRIES = 3

# Lines that follow each other, found at once: one by one would take ten times as long.
_MEMORY = re.compile(rb"\nRssAnon:\s*(\d+) kB\nRssFile:.*\nRssShmem:\s*(\d+) kB")
_SWITCHES = re.compile(rb"\nvoluntary_ctxt_switches:\s*(\d+)\nnonvoluntary_ctxt_switches:\s*(\d+)")


class _Turns(Struct, frozen=True):
    """What the scheduler did to one thread, or to several."""

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
"""Process number, its start, and the thread's number: never the same for two threads."""


class _Look(Struct):
    """What one reading has found in the files of single processes."""

    turns: dict[_Thread, _Turns] = {}
    private_bytes: int = 0
    shared_bytes: int = 0
    """Of the process that has mapped the most: all have mapped the same memory."""


class ProcessGroup:
    """The process of number ``first`` and, unless it is watched ``alone``, all below it."""

    def __init__(self, first: int, *, alone: bool = False) -> None:
        self.first = first
        self._alone = alone
        self._started: int | None = None
        self._seen: dict[_Thread, _Turns] = {}
        self._gone = _Turns()
        self._largest: dict[str, float] = {}

    def members(self, table: ProcessTable, *, fresh: bool = False) -> list[Process]:
        """Who belongs to it, as last read; nobody once the first process has ended."""
        tree = self._tree(table, fresh=fresh)
        return tree if self._is_first(table.again(tree[:1])) else []

    def _tree(self, table: ProcessTable, *, fresh: bool) -> list[Process]:
        tree = table.tree(self.first, fresh=fresh)
        return tree[:1] if self._alone else tree

    def _is_first(self, found: list[Process]) -> bool:
        """Whether these, as they are now, begin with the first: its number may be another's."""
        if not found or found[0].pid != self.first:
            return False
        if self._started is None:
            self._started = found[0].started
        return found[0].started == self._started

    def _now(self, table: ProcessTable) -> list[Process]:
        """The members as they are now, all read while none of them was buried."""
        found: list[Process] = []
        for tried in range(_TRIES):
            found = table.again(self._tree(table, fresh=tried > 0))
            if self._alone or not _was_one_buried(table, found):
                break
        return found if self._is_first(found) else []

    def read(self, table: ProcessTable) -> dict[str, float]:
        """Its sums and levels; nothing once it has ended."""
        members = self._now(table)
        if not members:
            return {}
        look = _look(table.root, members)
        counters = {
            **_used(members, with_buried=not self._alone),
            **self._scheduled(look.turns, table.root),
        }
        return self._held(counters) | {
            "count": len(members),
            "running": _in_state(members, "R"),
            "waiting_for_disk": _in_state(members, "D"),
            "stopped": _in_state(members, "Tt"),
            "memory_bytes": look.private_bytes + look.shared_bytes,
        }

    def bytes_read(self, table: ProcessTable) -> dict[str, float]:
        """Bytes from storage; nothing once it has ended, PermissionError if not for us.

        The kernel adds those of buried children to their parent's itself.
        """
        told = [_bytes_read(table.root, process) for process in self.members(table)]
        known = [each for each in told if each is not None]
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
        is_queue_told = (root / "proc/self/schedstat").exists()
        return switches | ({"run_queue_us": total.queued_ns / 1000} if is_queue_told else {})

    def _held(self, counters: dict[str, float]) -> dict[str, float]:
        """A child that died unnoticed makes a sum fall for a moment; it is known next time."""
        held = {name: max(value, self._largest.get(name, 0)) for name, value in counters.items()}
        self._largest |= held
        return held


def _was_one_buried(table: ProcessTable, members: list[Process]) -> bool:
    """Whether the first has buried a child since it was read."""
    first = table.again(members[:1])
    return bool(first) and first[0].buried != members[0].buried


def _used(members: Iterable[Process], *, with_buried: bool) -> dict[str, float]:
    total = Used()
    for process in members:
        total += process.used + process.buried if with_buried else process.used
    return {name: getattr(total, name) for name in Used.__struct_fields__}


def _in_state(members: Iterable[Process], states: str) -> int:
    return sum(process.state in states for process in members)


def _look(root: Path, members: Iterable[Process]) -> _Look:
    look = _Look()
    for process in members:
        private = shared = 0
        for thread, folder in _threads(root, process):
            try:
                status = files.short(f"{folder}/status")
            except OSError:
                continue  # it has just ended
            voluntary, involuntary = _pair(_SWITCHES, status)
            turns = _Turns(voluntary, involuntary, _queued_ns(folder))
            look.turns[(process.pid, process.started, thread)] = turns
            # All threads tell the memory of their process.
            private, shared = _pair(_MEMORY, status)
        look.private_bytes += private * 1024
        look.shared_bytes = max(look.shared_bytes, shared * 1024)
    return look


def _pair(pattern: re.Pattern[bytes], status: bytes) -> tuple[int, int]:
    found = pattern.search(status)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _queued_ns(folder: str) -> int:
    """How long the thread was ready to run and had no processor; 0 where that is not told."""
    try:
        return int(files.short(f"{folder}/schedstat").split()[1])
    except OSError:
        return 0


def _threads(root: Path, process: Process) -> Iterator[tuple[str, str]]:
    """Number and folder of each thread; a process of one needs no look into its list."""
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
            return None  # what is about to end is told to root alone, whosever it is
        raise
    return int(dict(line.split(b": ") for line in content.splitlines())[b"read_bytes"])
