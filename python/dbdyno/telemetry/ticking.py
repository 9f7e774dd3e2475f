"""The load's begin and end, and instants between them, for all of telemetry's threads.

Instants are those of the engine's clock, which is the machine's monotonic one.
"""

import threading
import time

from dbdyno.model.frame import Started


class Ticker:
    """Wakes who waits for the load to begin, or sleeps until an instant; at its end all."""

    def __init__(self) -> None:
        self._begun = threading.Event()
        self._over = threading.Event()
        self._started: Started | None = None

    def begin(self, started: Started) -> None:
        """The load begins."""
        self._started = started
        self._begun.set()

    def wait_for_start(self) -> Started | None:
        """The engine's word of the beginning; None when it ended without one."""
        self._begun.wait()
        return self._started

    def sleep_until(self, at_ns: int) -> bool:
        """Whether the instant came; False when the load is over."""
        return not self._over.wait(max(at_ns - time.monotonic_ns(), 0) / 1e9)

    def end(self) -> None:
        """The load is over, or never began."""
        self._over.set()
        self._begun.set()
