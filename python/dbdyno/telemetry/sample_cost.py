"""The cost of session samples, from which their rate is limited to a share of the host.

If the server's side of our connection is a process or thread of this host, the kernel reports its
CPU time, and the cost is CPU time: that of the server's side and of our own thread, including the
processing of samples. For a server elsewhere it is the shortest of its last few answer times: the
longer ones waited for a CPU or a lock, and on a busy server they would slow down sampling where it
is needed most.
"""

import time
from collections import deque
from collections.abc import Callable

from dbdyno.telemetry.pace import Costs

_REMEMBERED = 8
_REMEMBERED_JOINED = 3


class SampleCost:
    """The cost of the last few samples of one thread, each added when it is complete.

    ``served_ns`` returns the CPU time of the server's side so far. It is called after each sample;
    it never decreases, and it returns None until a process or thread has been seen.
    """

    def __init__(self, served_ns: Callable[[], int | None]) -> None:
        self._served_ns = served_ns
        self._served_before_ns: int | None = None
        self._own_before_ns = 0
        self._alone, self._with_locks = _Answers(), _Answers()
        self._joined: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED_JOINED)

    def add(self, answer_ns: int, *, with_locks: bool) -> None:
        """Add a sample that was answered within this time."""
        answers = self._with_locks if with_locks else self._alone
        before_ns, served_ns, own_ns = self._served_before_ns, self._served_ns(), self._own_ns()
        self._served_before_ns = served_ns
        if served_ns is None:
            answers.durations_ns.append(answer_ns)
        elif before_ns is not None:
            answers.used_ns.append(served_ns - before_ns + own_ns)

    def add_joined(self, samples: int) -> None:
        """Add the processing of this many samples; its cost is divided among them."""
        self._joined.append((samples, self._own_ns()))

    def _own_ns(self) -> int:
        """Return our thread's CPU time since the last call."""
        before_ns, self._own_before_ns = self._own_before_ns, time.thread_time_ns()
        return self._own_before_ns - before_ns

    @property
    def of_each(self) -> Costs:
        """Return the recent costs: 0 before the first sample; not split if none was without locks.

        While all samples include locks, the cost of one without may be from long ago: it is capped
        at the cost of one with locks.
        """
        both_ns, alone_ns = self._with_locks.ns, self._alone.ns
        if both_ns:
            alone_ns = min(alone_ns or both_ns, both_ns)
        return Costs(alone_ns + self._joined_ns, max(both_ns - alone_ns, 0))

    @property
    def _joined_ns(self) -> int:
        """Return the processing cost of each sample; 0 for a server elsewhere."""
        samples = sum(samples for samples, _ in self._joined)
        if not samples or self._served_before_ns is None:
            return 0
        return sum(joined_ns for _, joined_ns in self._joined) // samples


class _Answers:
    """The costs of the last few samples of one kind."""

    def __init__(self) -> None:
        self.durations_ns: deque[int] = deque(maxlen=_REMEMBERED)
        self.used_ns: deque[int] = deque(maxlen=_REMEMBERED)

    @property
    def ns(self) -> int:
        if self.used_ns:
            return sum(self.used_ns) // len(self.used_ns)
        return min(self.durations_ns, default=0)
