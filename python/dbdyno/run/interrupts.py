"""Ctrl-C while the engine measures: the first asks it to end, any further one ends it.

So do a supervisor's request and the end of the terminal. Elsewhere each is Python's ordinary
``KeyboardInterrupt``. While frames are read it must not be: an exception in the middle of a
frame would lose the data so far.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Those that came: the first calls ``stop``, each further one ``kill``."""

    def __init__(self, stop: Callable[[], None], kill: Callable[[], None]) -> None:
        self._stop = stop
        self._kill = kill
        self.came = False

    def handle(self, _signal: int, _frame: FrameType | None) -> None:
        """A signal's handler."""
        act = self._kill if self.came else self._stop
        self.came = True
        act()


def heeded() -> list[signal.Signals]:
    """All but those that were switched off by who started us: nohup, or a shell's ``&``."""
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def deferred_to(stop: Callable[[], None], kill: Callable[[], None]) -> Iterator[Interrupts]:
    """Within the block interrupts raise nothing; what was yielded knows of them."""
    interrupts = Interrupts(stop, kill)
    if threading.current_thread() is not threading.main_thread():
        yield interrupts  # Signals are the main thread's: whoever runs it decides.
        return
    before = {number: signal.signal(number, interrupts.handle) for number in heeded()}
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
