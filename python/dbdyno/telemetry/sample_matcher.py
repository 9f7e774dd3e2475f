"""Holds samples of the server until the engine's frame of the same instant comes, and vice versa.

Bounded: an engine that sends nothing must not fill the memory. What finds no partner in time is
dropped, and lost samples are counted.
"""

import threading
from typing import TypeAlias

from dbdyno.model.frame import Activity
from dbdyno.telemetry.joining import SessionSample

Pair: TypeAlias = tuple[SessionSample, Activity]

_SAMPLES_MAX = 128
_ACTIVITIES_MAX = 256


class SampleMatcher:
    """Samples come from the sampling thread, the engine's frames from the one that reads them."""

    def __init__(self) -> None:
        self._samples: dict[int, SessionSample] = {}
        self._activities: dict[int, Activity] = {}
        self._lock = threading.Lock()
        self.samples_lost = 0

    def add_activity(self, activity: Activity) -> None:
        """Add the engine's frame of an instant."""
        with self._lock:
            self._activities[activity.at_ns] = activity
            _keep_newest(self._activities, _ACTIVITIES_MAX)

    def add_sample(self, sample: SessionSample) -> None:
        """Add a sample of the server."""
        with self._lock:
            self._samples[sample.at_ns] = sample
            self.samples_lost += _keep_newest(self._samples, _SAMPLES_MAX)

    def pairs(self) -> list[Pair]:
        """Return all pairs that have become complete, in the order of time."""
        with self._lock:
            met = sorted(self._samples.keys() & self._activities.keys())
            return [(self._samples.pop(at_ns), self._activities.pop(at_ns)) for at_ns in met]

    def close(self) -> None:
        """Note that nothing more will come: the samples that still wait are lost."""
        with self._lock:
            self.samples_lost += len(self._samples)
            self._samples.clear()


def _keep_newest(held: dict[int, SessionSample] | dict[int, Activity], most: int) -> int:
    """Drop the oldest; return how many."""
    surplus = sorted(held)[: len(held) - most] if len(held) > most else []
    for at_ns in surplus:
        del held[at_ns]
    return len(surplus)
