"""What a sample of the sessions costs, so that sampling can be kept to a share of the machine.

Where a process or thread of this machine serves our connection, the kernel tells what it took, and
the cost is CPU time: of that and of our own thread, which also joins the samples. Elsewhere it is
how long the server took to answer, and the least of the last few: the longer ones waited for a
processor or a lock, and on a busy server that would slow sampling where it is needed most.
"""

import time
from collections import deque
from collections.abc import Callable

from dbdyno.telemetry.pace import Costs

_REMEMBERED = 8
_REMEMBERED_JOINED = 3


class SampleCost:
    """Of the last few samples of one thread, each of which is added when it is over.

    ``served_ns`` tells what serves it took so far. It is asked after each sample, never tells less
    than before, and None as long as none was seen.
    """

    def __init__(self, served_ns: Callable[[], int | None]) -> None:
        self._served_ns = served_ns
        self._served_before_ns: int | None = None
        self._ours_before_ns = 0
        self._alone, self._with_locks = _Answers(), _Answers()
        self._joined: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED_JOINED)

    def add(self, answer_ns: int, *, with_locks: bool) -> None:
        """The server answered within this time."""
        answers = self._with_locks if with_locks else self._alone
        before_ns, served_ns, ours_ns = self._served_before_ns, self._served_ns(), self._ours_ns()
        self._served_before_ns = served_ns
        if served_ns is None:
            answers.durations_ns.append(answer_ns)
        elif before_ns is not None:
            answers.used_ns.append(served_ns - before_ns + ours_ns)

    def add_joined(self, samples: int) -> None:
        """So many samples were joined: all share the cost."""
        self._joined.append((samples, self._ours_ns()))

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
        return Costs(alone_ns + self._joined_ns, max(both_ns - alone_ns, 0))

    @property
    def _joined_ns(self) -> int:
        """Of each sample. Where another machine is spared, what ours takes does not count."""
        samples = sum(samples for samples, _ in self._joined)
        if not samples or self._served_before_ns is None:
            return 0
        return sum(joined_ns for _, joined_ns in self._joined) // samples


class _Answers:
    """What the last few samples of a kind took to be answered."""

    def __init__(self) -> None:
        self.durations_ns: deque[int] = deque(maxlen=_REMEMBERED)
        self.used_ns: deque[int] = deque(maxlen=_REMEMBERED)

    @property
    def ns(self) -> int:
        if self.used_ns:
            return sum(self.used_ns) // len(self.used_ns)
        return min(self.durations_ns, default=0)
