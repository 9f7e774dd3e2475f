"""Ends an engine that has fallen silent: the sign of life is a frame, sent every interval.

A server that does not answer is handled by the engine itself (it still sends frames, and gives up
after the stall limit); this is for an engine that cannot even do that.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self


class Watchdog:
    """Calls ``on_silence`` once, from its own thread, when no sign of life came within the limit.

    It counts its own naps, each of which lasts at least as long as it should: while this whole
    process is stopped (Ctrl-Z) or short of CPU time, it cannot receive a sign of life, either.
    """

    def __init__(
        self,
        on_silence: Callable[[], None],
        limit_s: float,
        sleep: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._on_silence = on_silence
        self._limit_s = limit_s
        self._sleep = sleep
        self._signs = 0
        self._is_listening = True
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self.has_fired = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Note a sign of life; silence does not count while the block processes it."""
        self._signs += 1
        self._is_listening = False
        try:
            yield
        finally:
            self._is_listening = True

    def allow(self, limit_s: float) -> None:
        """Set the limit for the next sign of life and all further ones."""
        self._limit_s = limit_s

    def _watch(self) -> None:
        signs, silent_s = self._signs, 0.0
        while not self._sleep(self._over, sleep_s := min(self._limit_s / 4, 1.0)):
            is_silent = self._is_listening and signs == self._signs
            signs, silent_s = self._signs, silent_s + sleep_s if is_silent else 0.0
            if silent_s >= self._limit_s:
                self.has_fired = True
                self._on_silence()
                return

    def __enter__(self) -> Self:
        """Start watching."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop watching."""
        self._over.set()
        self._thread.join()
