"""The history that InnoDB keeps: old versions of rows that transactions may still need.

The history list counts transactions whose old versions have not been purged. This module gives its
course over the run and the age of the oldest transaction; the rules decide what that means.
"""

from msgspec import Struct

from dbdyno.analysis.series.readings import level
from dbdyno.analysis.summarize import full_record
from dbdyno.explain.needs import measured_peak, needed
from dbdyno.explain.resources.growth import Course, course
from dbdyno.model.counters import GlobalStatus, InnodbMetrics, Sessions
from dbdyno.model.run import Run

OLD_S = 2.0
"""The server reports ages in whole seconds."""
LENGTHS = (GlobalStatus.Innodb_history_list_length, InnodbMetrics.trx_rseg_history_len)


class History(Struct, frozen=True):
    """The list's length over the run, and the ages of transactions while it was measured."""

    length: Course
    oldest_s: float
    oldest_idle_s: float
    slowest_s: float
    """The slowest of the load's own transactions."""

    @property
    def is_held(self) -> bool:
        """Whether a transaction was much older than the load's own."""
        return self.oldest_s >= max(OLD_S, 2 * self.slowest_s)

    @property
    def kept(self) -> float:
        """Number of transactions by which the list grew."""
        return max(self.length.last - self.length.first, 0.0)


def history_of(run: Run) -> History:
    """The history as telemetry read it; the list under whichever name the server uses."""
    levels = (level(run, counter, "") for counter in LENGTHS)
    series = needed(
        next((one for one in levels if one is not None), None),
        "the history list length was not read",
    )
    response_ms = full_record(run).response_ms
    return History(
        length=course(series),
        oldest_s=measured_peak(run, Sessions.oldest_transaction_s),
        oldest_idle_s=measured_peak(run, Sessions.oldest_idle_in_transaction_s),
        slowest_s=(response_ms.max or 0.0) / 1e3 if response_ms else 0.0,
    )
