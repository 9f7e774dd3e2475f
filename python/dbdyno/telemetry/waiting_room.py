"""Holds samples of the server until the engine's frame of the same instant comes, and vice versa.

Bounded: an engine that sends nothing must not fill the memory. What finds no partner in time is
dropped, and lost samples are counted.
"""

import threading
from typing import TypeAlias

from dbdyno.model.frame import Activity
from dbdyno.telemetry.joining import Look

Pair: TypeAlias = tuple[Look, Activity]

_LOOKS_MAX = 128
_WORDS_MAX = 256


class WaitingRoom:
    """Samples come from the sampling thread, the engine's frames from the one that reads them."""

    def __init__(self) -> None:
        self._looks: dict[int, Look] = {}
        self._words: dict[int, Activity] = {}
        self._lock = threading.Lock()
        self.looks_lost = 0

    def add_word(self, activity: Activity) -> None:
        """Add the engine's frame of an instant."""
        with self._lock:
            self._words[activity.at_ns] = activity
            _keep_newest(self._words, _WORDS_MAX)

    def add_look(self, look: Look) -> None:
        """Add a sample of the server."""
        with self._lock:
            self._looks[look.at_ns] = look
            self.looks_lost += _keep_newest(self._looks, _LOOKS_MAX)

    def pairs(self) -> list[Pair]:
        """Return all pairs that have become complete, in the order of time."""
        with self._lock:
            met = sorted(self._looks.keys() & self._words.keys())
            return [(self._looks.pop(at_ns), self._words.pop(at_ns)) for at_ns in met]

    def close(self) -> None:
        """Note that nothing more will come: the samples that still wait are lost."""
        with self._lock:
            self.looks_lost += len(self._looks)
            self._looks.clear()


def _keep_newest(held: dict[int, Look] | dict[int, Activity], most: int) -> int:
    """Drop the oldest; return how many."""
    surplus = sorted(held)[: len(held) - most] if len(held) > most else []
    for at_ns in surplus:
        del held[at_ns]
    return len(surplus)
