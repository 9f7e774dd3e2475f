"""The cost of telemetry without its session samples, which may use what remains of the budget.

It is a mean since the start of the load, because expensive sources are read once at the start and
then every few seconds. The cost of the first second counts twice: everything is read once more at
the end, when session samples can no longer make up for it. Decides nothing, and knows nothing of
threads and connections.
"""

import time
from collections.abc import Callable

_INTERVAL_NS = 1_000_000_000


class OtherCost:
    """``used_ns`` returns the CPU time that the rest took so far; it is called once a second."""

    def __init__(self, used_ns: Callable[[], int], cores: int) -> None:
        self._used_ns = used_ns
        self._cores = cores
        self._began_ns = self._before_ns = 0
        self._at_end_ns: int | None = None
        self._due_ns = 0
        self._share = 0.0

    def begin(self) -> None:
        """Start counting as the load begins."""
        self._began_ns, self._before_ns = time.monotonic_ns(), self._used_ns()
        self._due_ns = self._began_ns + _INTERVAL_NS

    def share(self) -> float:
        """Return the share of all CPU time; 0 in the first second, when nothing is known yet."""
        now_ns = time.monotonic_ns()
        if now_ns >= self._due_ns:
            self._due_ns = now_ns + _INTERVAL_NS
            taken_ns = self._used_ns() - self._before_ns
            if self._at_end_ns is None:
                self._at_end_ns = taken_ns
            self._share = (taken_ns + self._at_end_ns) / (now_ns - self._began_ns) / self._cores
        return self._share
