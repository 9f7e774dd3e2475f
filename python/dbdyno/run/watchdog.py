"""Ends an engine that has fallen silent: a heartbeat is a frame, and frames come every interval.

A server that does not answer is the engine's own business (it still sends frames, and gives
up after the stall limit); this is for an engine that cannot even do that.
"""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Watchdog:
    """Calls ``on_silence`` once, from a thread of its own, when no beat came for so long."""

    def __init__(
        self,
        on_silence: Callable[[], None],
        limit_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_silence = on_silence
        self._limit_s = limit_s
        self._clock = clock
        self._last = self._clock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self.has_bitten = False

    def beat(self, limit_s: float | None = None) -> None:
        """A sign of life; the next may be awaited for another span."""
        self._last = self._clock()
        self._limit_s = limit_s or self._limit_s

    def _watch(self) -> None:
        while not self._over.wait(min(self._limit_s / 4, 1.0)):
            if self._clock() - self._last > self._limit_s:
                self.has_bitten = True
                self._on_silence()
                return

    def __enter__(self) -> Self:
        """Starts to watch."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops watching."""
        self._over.set()
        self._thread.join()
