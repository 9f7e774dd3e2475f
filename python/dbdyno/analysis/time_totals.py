"""Count and total time of what happened in the measured part of a run.

Reads the tables that have a count and a mean for each interval: ``connects``, ``scripts``
(successful transactions) and ``failed``. What these times mean is up to the callers.
"""

import numpy as np
from msgspec import Struct

from dbdyno.model.recording import Recording


class TimeTotal(Struct, frozen=True):
    """The number of occurrences, and the sum of their times."""

    count: int
    seconds: float


def measured_total(recording: Recording, table: str) -> TimeTotal:
    """Total of a table's rows in measured intervals; a row without a known time adds no seconds."""
    return _total(recording, table, ("measure",))


def total_with_drain(recording: Recording, table: str) -> TimeTotal:
    """The same, including what was due in the measured part and ended after it."""
    return _total(recording, table, ("measure", "drain"))


def _total(recording: Recording, table: str, phases: tuple[str, ...]) -> TimeTotal:
    rows, intervals = recording.tables[table], recording.tables["intervals"]
    of_phases = intervals["interval"][np.isin(intervals["phase"], phases)]
    wanted = np.isin(rows["interval"], of_phases)
    counts, mean_ms = rows["count"][wanted], rows["mean_ms"][wanted].astype(float)
    return TimeTotal(int(counts.sum()), float(np.nansum(counts * mean_ms)) / 1e3)
