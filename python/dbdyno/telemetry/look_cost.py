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


class LookCost:
    """Of the last few looks of one thread; ``served_ns`` tells what serves it took so far.

    It is asked after each look, never tells less than before, and None as long as none was seen.
    """

    def __init__(self, served_ns: Callable[[], int | None]) -> None:
        self._served_ns = served_ns
        self._answers_ns: deque[int] = deque(maxlen=_REMEMBERED)
        self._used_ns: deque[int] = deque(maxlen=_REMEMBERED + 1)

    def add(self, answer_ns: int) -> None:
        """A look was answered within this time."""
        self._answers_ns.append(answer_ns)
        served_ns = self._served_ns()
        if served_ns is not None:
            self._used_ns.append(served_ns + time.thread_time_ns())

    @property
    def ns(self) -> int:
        """Of one look, of late; nothing is known of the first."""
        if self._used_ns:
            looks = max(len(self._used_ns) - 1, 1)
            return (self._used_ns[-1] - self._used_ns[0]) // looks
        return min(self._answers_ns, default=0)
