"""Ends an engine that has fallen silent: a sign of life is a frame, and these come every interval.

A server that does not answer is the engine's own business (it still sends frames, and gives
up after the stall limit); this is for an engine that cannot even do that.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self


class Watchdog:
    """Calls ``on_silence`` once, from a thread of its own, when no sign came for so long.

    It counts its own naps, of which each lasts as long as it should or longer: while our whole
    process is stopped (Ctrl-Z) or short of processors, nobody could have heard a sign.
    """

    def __init__(
        self,
        on_silence: Callable[[], None],
        limit_s: float,
        nap: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._on_silence = on_silence
        self._limit_s = limit_s
        self._nap = nap
        self._signs = 0
        self._is_listening = True
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self.has_bitten = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """A sign of life came; no other is listened for while the block deals with it."""
        self._signs += 1
        self._is_listening = False
        try:
            yield
        finally:
            self._is_listening = True

    def allow(self, limit_s: float) -> None:
        """From now on the next sign may take so long."""
        self._limit_s = limit_s

    def _watch(self) -> None:
        signs, silent_s = self._signs, 0.0
        while not self._nap(self._over, nap_s := min(self._limit_s / 4, 1.0)):
            is_silent = self._is_listening and signs == self._signs
            signs, silent_s = self._signs, silent_s + nap_s if is_silent else 0.0
            if silent_s >= self._limit_s:
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
