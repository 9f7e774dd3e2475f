"""The start and the end of the load, and sleeping in between, for all threads of telemetry.

Times are those of the engine's clock, the host's monotonic clock.
"""

import threading
import time

from dbdyno.model.frame import Started


class LoadClock:
    """Wakes threads that wait for the start of the load or for an instant, and all at its end."""

    def __init__(self) -> None:
        self._begun = threading.Event()
        self._over = threading.Event()
        self._started: Started | None = None

    def begin(self, started: Started) -> None:
        """Note that the load has started."""
        self._started = started
        self._begun.set()

    def wait_for_start(self) -> Started | None:
        """Wait for the engine's frame of the start; return None if it ended without one."""
        self._begun.wait()
        return self._started

    def sleep_until(self, at_ns: int) -> bool:
        """Sleep until an instant; return False if the load ends first."""
        return not self._over.wait(max(at_ns - time.monotonic_ns(), 0) / 1e9)

    @property
    def is_over(self) -> bool:
        """Whether the load is over, or will never start."""
        return self._over.is_set()

    def end(self) -> None:
        """Note that the load is over, or will never start."""
        self._over.set()
        self._begun.set()
