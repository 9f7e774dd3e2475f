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

_REMEMBERED = 8
_REMEMBERED_NS = 2_000_000_000
"""Or as many as there were in so long: what is made of looks is made once a second."""


class LookCost:
    """Of the last few looks of one thread; ``served_ns`` tells what serves it took so far.

    It is asked after each look, never tells less than before, and None as long as none was seen.
    """

    def __init__(self, served_ns: Callable[[], int | None]) -> None:
        self._served_ns = served_ns
        self._answers_ns: deque[int] = deque(maxlen=_REMEMBERED)
        self._used: deque[tuple[int, int]] = deque()

    def add(self, answer_ns: int) -> None:
        """A look was answered within this time."""
        self._answers_ns.append(answer_ns)
        served_ns = self._served_ns()
        if served_ns is not None:
            self._add_used(time.monotonic_ns(), served_ns + time.thread_time_ns())

    def _add_used(self, at_ns: int, used_ns: int) -> None:
        used = self._used
        used.append((at_ns, used_ns))
        while len(used) > _REMEMBERED + 1 and at_ns - used[1][0] >= _REMEMBERED_NS:
            used.popleft()

    @property
    def ns(self) -> int:
        """Of one look, of late; nothing is known of the first."""
        if self._used:
            looks = max(len(self._used) - 1, 1)
            (_, first_ns), (_, last_ns) = self._used[0], self._used[-1]
            return (last_ns - first_ns) // looks
        return min(self._answers_ns, default=0)
