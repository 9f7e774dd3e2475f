"""Ctrl-C while the engine measures: the first requests the engine to end, further ones kill it.

SIGTERM from a supervisor and the end of the terminal have the same effect. Elsewhere each signal
raises Python's ordinary ``KeyboardInterrupt``. That must not happen while frames are read: an
exception in the middle of a frame would lose the data so far.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """The interrupts that arrived: the first calls ``stop``, each further one ``kill``."""

    def __init__(self, stop: Callable[[], None], kill: Callable[[], None]) -> None:
        self._stop = stop
        self._kill = kill
        self.came = False

    def handle(self, _signal: int, _frame: FrameType | None) -> None:
        """Handle a signal."""
        act = self._kill if self.came else self._stop
        self.came = True
        act()


def heeded() -> list[signal.Signals]:
    """Return all but those ignored since this process started, as with nohup or a shell's ``&``."""
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def deferred_to(stop: Callable[[], None], kill: Callable[[], None]) -> Iterator[Interrupts]:
    """Within the block interrupts raise nothing; the yielded object records them."""
    interrupts = Interrupts(stop, kill)
    if threading.current_thread() is not threading.main_thread():
        yield interrupts  # Only the main thread can handle signals.
        return
    before = {number: signal.signal(number, interrupts.handle) for number in heeded()}
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
