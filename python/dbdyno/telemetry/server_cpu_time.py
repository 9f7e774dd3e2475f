"""The CPU time of the server's side of one connection, as this host's kernel counts it.

It is counted from the moment at which a task is known to serve the connection, because a thread
that the server reuses has already served other sessions. The time of earlier sessions' tasks
remains counted as it was last read, since a task that has ended can no longer be read. Knows
nothing of connections.
"""

import threading
from pathlib import Path

from dbdyno.host.processes import running_ns


class ServerCpuTime:
    """The CPU time of all tasks that served one connection in turn; any thread may read it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._task: int | None = None
        self._was_seen = False
        self._began_ns = 0
        self._latest_ns = 0
        self._earlier_ns = 0

    def begin(self, task: int | None) -> None:
        """Note that this task serves the connection from now on; None if it is not known."""
        used_ns = None if task is None else running_ns(self._root, task)
        with self._lock:
            self._earlier_ns += self._latest_ns - self._began_ns
            self._task = None if used_ns is None else task
            self._was_seen |= used_ns is not None
            self._began_ns = self._latest_ns = used_ns or 0

    def read_ns(self) -> int | None:
        """Return the total so far, which never decreases; None before any task was seen."""
        with self._lock:
            used_ns = None if self._task is None else running_ns(self._root, self._task)
            if used_ns is not None:
                self._latest_ns = used_ns
            total_ns = self._earlier_ns + self._latest_ns - self._began_ns
            return total_ns if self._was_seen else None
