"""What waits in an open loop: transactions that are due, and that no client has begun.

A queue comes and goes with chance as long as the load is one that can be carried. Above capacity it
grows for as long as the run lasts (Kleinrock, *Queueing Systems* I, 1975, §2.1).
"""

import math

import numpy as np
from msgspec import Struct

from dbdyno.model.recording import Recording

_DUE_SHARE = 0.05
_DEVIATIONS = 3.0
_USUAL_SHARE = 1 / 3


class Arrivals(Struct, frozen=True, kw_only=True):
    """What became due while measuring, and what of it was waiting.

    ``waiting`` is the queue at the end, ``waiting_mean`` over the ends of intervals, and
    ``waiting_usual`` the median of those in the second half. In a closed loop nothing waits.
    """

    due: int
    waiting: int
    waiting_mean: float = 0.0
    waiting_usual: float = 0.0
    duration_s: float

    @property
    def due_per_s(self) -> float:
        """How many became due a second."""
        return self.due / self.duration_s if self.duration_s else 0.0

    @property
    def lag_s(self) -> float:
        """How long one was due before it was begun, on average: W = L/λ (Little, 1961)."""
        return self.waiting_mean / self.due_per_s if self.due else 0.0

    @property
    def overran(self) -> bool:
        """Whether more became due than was done, all the time.

        Of a load that is just carried, arrivals less completions have the standard deviation
        √(2·due) at the end, where both come at random. The queue must be beyond three of them,
        be one in twenty of all, and have been a third as long for half of the second half: a
        stall near the end leaves one that was not there before.
        """
        by_chance = _DEVIATIONS * math.sqrt(2 * self.due)
        return (
            self.waiting > max(by_chance, _DUE_SHARE * self.due)
            and self.waiting_usual >= _USUAL_SHARE * self.waiting
        )


def arrivals(recording: Recording, duration_s: float) -> Arrivals:
    """As the engine counted at the end of each measured interval."""
    intervals = recording.tables["intervals"]
    measured = intervals["phase"] == "measure"
    waiting = intervals["waiting"][measured].astype(float)
    if not len(waiting):
        return Arrivals(due=0, waiting=0, duration_s=duration_s)
    return Arrivals(
        due=int(intervals["due"][measured][-1]),
        waiting=int(waiting[-1]),
        waiting_mean=float(waiting.mean()),
        waiting_usual=float(np.median(waiting[len(waiting) // 2 :])),
        duration_s=duration_s,
    )
