"""Ctrl-C while the engine measures: the first asks it to end, the second ends it.

Elsewhere Ctrl-C is Python's ordinary ``KeyboardInterrupt``. While frames are read it must
not be: an exception in the middle of a frame would lose the data so far.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def deferred_to(stop: Callable[[], None], kill: Callable[[], None]) -> Iterator[None]:
    """Within the block, the first interrupt calls ``stop`` and any further one ``kill``."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Signals are the main thread's: whoever runs it decides.
        return
    steps = iter((stop,))

    def handle(_signal: int, _frame: FrameType | None) -> None:
        next(steps, kill)()

    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
