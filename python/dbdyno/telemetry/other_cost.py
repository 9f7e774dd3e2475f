"""The CPU time of telemetry without its session samples, which may take what this leaves.

A mean since the load began, since expensive sources are read at its beginning and then every few
seconds. The first second counts twice: as at the beginning, all is read once more at the end, when
it is too late to take fewer samples. Decides nothing, and knows of no threads and no connections.
"""

import time
from collections.abc import Callable

_ASKED_EVERY_NS = 1_000_000_000


class OtherCost:
    """``used_ns`` tells the CPU time of the rest of telemetry so far; it is asked once a second."""

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
        self._due_ns = self._began_ns + _ASKED_EVERY_NS

    def share(self) -> float:
        """Return the share of all CPU time; 0 in the first second, when nothing is known yet."""
        now_ns = time.monotonic_ns()
        if now_ns >= self._due_ns:
            self._due_ns = now_ns + _ASKED_EVERY_NS
            self._share = self._since_begin(now_ns, self._used_ns())
        return self._share

    def _since_begin(self, now_ns: int, used_ns: int) -> float:
        taken_ns = used_ns - self._before_ns
        if self._at_end_ns is None:
            self._at_end_ns = taken_ns
        return (taken_ns + self._at_end_ns) / (now_ns - self._began_ns) / self._cores
