"""What a look at the sessions costs, so that the pace can be kept to a share of the machine.

Where the server's side of our connection is a process or thread of this machine, the kernel tells
what it took, and the cost is processor time: of that and of our own thread, all that is made of a
look included. Elsewhere it is how long the server took to answer, and the least of the last few:
the longer ones waited for a processor or a lock, and on a busy server that would slow the watch
where it is needed most.
"""

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from dbdyno.host.processes import running_ns

_REMEMBERED = 8


class LookCost:
    """Of the last few looks of one thread; ``task`` is the kernel's number of what serves it."""

    def __init__(self, root: Path, task: Callable[[], int | None]) -> None:
        self._root = root
        self._task = task
        self._answers_ns: deque[int] = deque(maxlen=_REMEMBERED)
        self._used_ns: deque[int] = deque(maxlen=_REMEMBERED + 1)

    def add(self, answer_ns: int) -> None:
        """A look was answered within this time."""
        self._answers_ns.append(answer_ns)
        served_ns = self._served_ns()
        used_ns = None if served_ns is None else served_ns + time.thread_time_ns()
        # Another session than before may have used less so far.
        if used_ns is None or (self._used_ns and used_ns < self._used_ns[-1]):
            self._used_ns.clear()
        if used_ns is not None:
            self._used_ns.append(used_ns)

    def _served_ns(self) -> int | None:
        """What serves us has used since it began; None where that is not told."""
        task = self._task()
        return None if task is None else running_ns(self._root, task)

    @property
    def ns(self) -> int:
        """Of one look, of late; nothing is known of the first."""
        if self._used_ns:
            looks = max(len(self._used_ns) - 1, 1)
            return (self._used_ns[-1] - self._used_ns[0]) // looks
        return min(self._answers_ns, default=0)
