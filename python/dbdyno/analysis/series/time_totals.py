"""Count and total time of what happened in the measured part of a run.

Reads the tables that have a count and a mean for each interval: ``connects``, ``scripts``
(successful transactions) and ``failed``. What these times mean is up to the callers.
"""

import numpy as np
from msgspec import Struct

from dbdyno.model.run import Run
from dbdyno.model.tables import Latencies


class TimeTotal(Struct, frozen=True):
    """The number of occurrences, and the sum of their times."""

    count: int
    seconds: float


def measured_total(run: Run, table: Latencies) -> TimeTotal:
    """Total of a table's rows in measured intervals; a row without a known time adds no seconds."""
    return _total(run, table, ("measure",))


def total_with_drain(run: Run, table: Latencies) -> TimeTotal:
    """The same, including what was due in the measured part and ended after it."""
    return _total(run, table, ("measure", "drain"))


def _total(run: Run, table: Latencies, phases: tuple[str, ...]) -> TimeTotal:
    of_phases = run.intervals.interval[np.isin(run.intervals.phase, phases)]
    wanted = np.isin(table.interval, of_phases)
    counts, mean_ms = table.count[wanted], table.mean_ms[wanted].astype(float)
    return TimeTotal(int(counts.sum()), float(np.nansum(counts * mean_ms)) / 1e3)
