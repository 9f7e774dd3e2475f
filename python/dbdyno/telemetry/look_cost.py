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

from dbdyno.telemetry.pace import Costs

_REMEMBERED = 8
_REMEMBERED_MADE = 3


class LookCost:
    """Of the last few looks of one thread, each of which is told when it is over.

    ``served_ns`` tells what serves it took so far. It is asked after each look, never tells less
    than before, and None as long as none was seen.
    """

    def __init__(self, served_ns: Callable[[], int | None]) -> None:
        self._served_ns = served_ns
        self._served_before_ns: int | None = None
        self._ours_before_ns = 0
        self._alone, self._with_locks = _Asked(), _Asked()
        self._made: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED_MADE)

    def add(self, answer_ns: int, *, with_locks: bool) -> None:
        """A look was answered within this time."""
        asked = self._with_locks if with_locks else self._alone
        before_ns, served_ns, ours_ns = self._served_before_ns, self._served_ns(), self._ours_ns()
        self._served_before_ns = served_ns
        if served_ns is None:
            asked.answers_ns.append(answer_ns)
        elif before_ns is not None:
            asked.used_ns.append(served_ns - before_ns + ours_ns)

    def add_made(self, looks: int) -> None:
        """What was to be made of so many looks is made: all share in it."""
        self._made.append((looks, self._ours_ns()))

    def _ours_ns(self) -> int:
        """Of our thread, since it was asked last."""
        before_ns, self._ours_before_ns = self._ours_before_ns, time.thread_time_ns()
        return self._ours_before_ns - before_ns

    @property
    def of_each(self) -> Costs:
        """Of late; nothing is known of the first. All is one where none was without locks.

        Where all are with locks, what one without took may be long ago: it takes no more than they.
        """
        both_ns, alone_ns = self._with_locks.ns, self._alone.ns
        if both_ns:
            alone_ns = min(alone_ns or both_ns, both_ns)
        return Costs(alone_ns + self._made_ns, max(both_ns - alone_ns, 0))

    @property
    def _made_ns(self) -> int:
        """Of each look. Where another machine is spared, what ours takes does not count."""
        looks = sum(looks for looks, _ in self._made)
        if not looks or self._served_before_ns is None:
            return 0
        return sum(made_ns for _, made_ns in self._made) // looks


class _Asked:
    """What the last few looks of a kind took to be answered."""

    def __init__(self) -> None:
        self.answers_ns: deque[int] = deque(maxlen=_REMEMBERED)
        self.used_ns: deque[int] = deque(maxlen=_REMEMBERED)

    @property
    def ns(self) -> int:
        if self.used_ns:
            return sum(self.used_ns) // len(self.used_ns)
        return min(self.answers_ns, default=0)
