"""How often something came in the measured part, or of it, and how long it took together.

Reads the tables that have a count and a mean for each interval: ``connects``, ``scripts``
(transactions that succeeded) and ``failed``. What of these times matters is for others to say.
"""

import numpy as np
from msgspec import Struct

from dbdyno.model.recording import Recording


class Spent(Struct, frozen=True):
    """The number and the sum of the times."""

    count: int
    seconds: float


def spent(recording: Recording, table: str) -> Spent:
    """All of a table's rows that are of measured intervals; of a time nobody knows, none."""
    return _spent(recording, table, ("measure",))


def spent_to_the_end(recording: Recording, table: str) -> Spent:
    """With them what was due in the measured part and ended after it."""
    return _spent(recording, table, ("measure", "drain"))


def _spent(recording: Recording, table: str, phases: tuple[str, ...]) -> Spent:
    rows, intervals = recording.tables[table], recording.tables["intervals"]
    of_phases = intervals["interval"][np.isin(intervals["phase"], phases)]
    wanted = np.isin(rows["interval"], of_phases)
    counts, mean_ms = rows["count"][wanted], rows["mean_ms"][wanted].astype(float)
    return Spent(int(counts.sum()), float(np.nansum(counts * mean_ms)) / 1e3)
