"""What one committed transaction cost: of processor time, WAL, buffers, switches, bytes.

Costs hardly move with noise, so they stand beside throughput everywhere. Each is the ratio
of two sums over the same measured intervals; its interval is that of a ratio of
autocorrelated series. The denominator is what was committed: what failed is paid by the rest.

PostgreSQL 15 and later publish most counters up to a second late. The sums begin and end
while the load is on, so both ends lag alike and the lag falls out as long as throughput
holds still. What remains is at most a second of the difference between the throughput at
the begin and at the end, out of all transactions. The WAL's bytes are from its insert
position, which never lags.

What is not counted on a server is not in the list, never 0.
"""

import numpy as np

from dbdyno.analysis.alignment import Intervals, as_if_read, measured_intervals
from dbdyno.analysis.ratios import ratio
from dbdyno.analysis.script_costs import costs_by_script
from dbdyno.analysis.spending import Paid, spending
from dbdyno.model.record import CostRecord
from dbdyno.model.recording import Recording


def costs(recording: Recording) -> list[CostRecord]:
    """Every cost that was measured, those of single scripts after those of all together."""
    intervals = measured_intervals(recording)
    spent = spending(recording, intervals)
    of_all = [record for paid in spent if (record := _of_all(paid, intervals))]
    return of_all + costs_by_script(recording, intervals, spent)


def cost(found: list[CostRecord], wanted: str) -> float | None:
    """The value of one cost of all scripts together; None if it was not measured."""
    values = (record.value for record in found if record.id == wanted and not record.script)
    return next(values, None)


def _of_all(paid: Paid, intervals: Intervals) -> CostRecord | None:
    committed = intervals.committed
    if paid.readings:
        committed = as_if_read(committed, intervals, paid.readings)
    known = ~np.isnan(paid.amount + committed)
    found = ratio(paid.amount[known], committed[known])
    return paid.record(found) if found else None
