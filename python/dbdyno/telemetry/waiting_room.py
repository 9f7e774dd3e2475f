"""Where looks at the server wait for the engine's word of the same instant, and the reverse.

Bounded: an engine that says nothing must not fill the memory of who listens. What finds no
partner in time is let go and counted.
"""

import threading
from typing import TypeAlias

from dbdyno.model.frame import Activity
from dbdyno.telemetry.joining import Look

Pair: TypeAlias = tuple[Look, Activity]

_LOOKS_MAX = 128
_WORDS_MAX = 256


class WaitingRoom:
    """Looks come from the thread that looks, words from the one that reads the engine."""

    def __init__(self) -> None:
        self._looks: dict[int, Look] = {}
        self._words: dict[int, Activity] = {}
        self._lock = threading.Lock()
        self.looks_lost = 0

    def add_word(self, activity: Activity) -> None:
        """The engine told of an instant."""
        with self._lock:
            self._words[activity.at_ns] = activity
            _keep_newest(self._words, _WORDS_MAX)

    def add_look(self, look: Look) -> None:
        """The server was looked at."""
        with self._lock:
            self._looks[look.at_ns] = look
            self.looks_lost += _keep_newest(self._looks, _LOOKS_MAX)

    def pairs(self) -> list[Pair]:
        """All that have found each other since, in the order of time."""
        with self._lock:
            met = sorted(self._looks.keys() & self._words.keys())
            return [(self._looks.pop(at_ns), self._words.pop(at_ns)) for at_ns in met]

    def close(self) -> None:
        """Nothing more will come: the looks that still wait are lost."""
        with self._lock:
            self.looks_lost += len(self._looks)
            self._looks.clear()


def _keep_newest(held: dict[int, Look] | dict[int, Activity], most: int) -> int:
    """Lets the oldest go; how many."""
    surplus = sorted(held)[: len(held) - most] if len(held) > most else []
    for at_ns in surplus:
        del held[at_ns]
    return len(surplus)
