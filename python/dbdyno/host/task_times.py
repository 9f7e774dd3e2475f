"""CPU time of the server's processes or threads, added up by what they are there for.

The sums never fall, and together they are all that the server used: the kernel adds the CPU time of
exited children to their parent, and that of ended threads to their process. What was not read
before it ended counts for the class of most that have ended since the reading before; if none is
known, because it also began since then, for a class that the caller chooses. Decides nothing about
classes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from dbdyno.host import files
from dbdyno.host.group import ProcessGroup
from dbdyno.host.processes import Process, ProcessTable, running_ns

Classify = Callable[[int, int], str]
"""Returns the class of a process's thread, by both numbers."""


_Task = tuple[int, int, int]
"""A process's number, its start time, and a thread's number."""


class _Time(NamedTuple):
    """What a task has used, and what it is there for."""

    of_class: str
    used_us: float


class TaskTimes:
    """The tasks of one group: each process, or the threads of processes that have several."""

    def __init__(self, classes: Iterable[str], classify: Classify, ended: str) -> None:
        self._classify = classify
        self._ended = ended
        self._by_class = dict.fromkeys(classes, 0.0)
        self._seen: dict[_Task, _Time] = {}

    def read(self, group: ProcessGroup, table: ProcessTable) -> dict[str, float]:
        """Return the microseconds of each class so far; empty once the first process has ended."""
        members = table.again(group.members(table))
        if not members or members[0].pid != group.first:
            return {}
        seen: dict[_Task, _Time] = {}
        total_us = 0.0
        for process in members:
            times_us = dict(_times_us(table, process))
            alone_us = times_us.get(process.pid, 0.0) if process.threads == 1 else 0.0
            total_us += max(process.used.cpu_us, alone_us) + process.buried.cpu_us
            for thread, used_us in times_us.items():
                its = _Time(self._classify(process.pid, thread), used_us)
                task = (process.pid, process.started, thread)
                before = self._seen.get(task)
                self._by_class[its.of_class] += max(used_us - (before.used_us if before else 0), 0)
                seen[task] = its
        gone = Counter(its.of_class for task, its in self._seen.items() if task not in seen)
        self._seen = seen
        # Rounding, and a child that is reaped while the others are read, lower the sum briefly.
        unread_us = max(total_us - sum(self._by_class.values()), 0.0)
        ((of_unread, _),) = gone.most_common(1) or [(self._ended, 0)]
        self._by_class[of_unread] += unread_us
        return dict(self._by_class)


def _times_us(table: ProcessTable, process: Process) -> Iterator[tuple[int, float]]:
    """Yield the number of each thread, and the microseconds that it has run."""
    if process.threads == 1:
        ran_ns = running_ns(table.root, process.pid)
        yield process.pid, process.used.cpu_us if ran_ns is None else ran_ns / 1000
        return
    for name in files.names(f"{table.root}/proc/{process.pid}/task"):
        ran_ns = running_ns(table.root, int(name))
        if ran_ns is not None:
            yield int(name), ran_ns / 1000
