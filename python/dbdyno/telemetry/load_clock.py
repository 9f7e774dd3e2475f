"""The begin and end of the load, and sleeping in between, for all of telemetry's threads.

Times are those of the engine's clock, the host's monotonic one.
"""

import threading
import time

from dbdyno.model.frame import Started


class LoadClock:
    """Wakes threads that wait for the load to begin or for an instant; all of them at its end."""

    def __init__(self) -> None:
        self._begun = threading.Event()
        self._over = threading.Event()
        self._started: Started | None = None

    def begin(self, started: Started) -> None:
        """The load begins."""
        self._started = started
        self._begun.set()

    def wait_for_start(self) -> Started | None:
        """The engine's frame of the start; None when it ended without one."""
        self._begun.wait()
        return self._started

    def sleep_until(self, at_ns: int) -> bool:
        """Whether the instant came; False when the load is over."""
        return not self._over.wait(max(at_ns - time.monotonic_ns(), 0) / 1e9)

    def end(self) -> None:
        """The load is over, or never began."""
        self._over.set()
        self._begun.set()
