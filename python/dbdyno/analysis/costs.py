"""The cost of one committed transaction: CPU time, WAL, buffers, context switches, bytes.

Costs hardly vary with noise, so they are shown beside throughput everywhere. Each is the ratio of
two sums over the same time; its interval is that of a ratio of autocorrelated series, from the
measured intervals. The denominator is the committed transactions: failed ones add to the cost of
the rest.

Without a warm-up, the time is that of the whole load, from a reading before its first transaction
to one after its sessions have ended and published all that they counted. These sums are exact; they
include the end of the sessions, but not their beginning. If a reading is missing, counters were set
back, or sessions go on (those of a pooler), the time is that of the measured intervals, as it is
after a warm-up.

PostgreSQL 15 and later publish most counters up to a second late. These sums begin and end under
load, so both ends lag, and only the difference of the two lags remains: less than a second's work
out of all, and most when sessions that began together publish in step. Intervals of such costs are
widened by that. CPU time, context switches and WAL bytes, which come from the insert position,
never lag. What was read fewer than five times under load, as may happen to the processes of many
clients, has no interval.

What a server does not count is not in the list, never 0.
"""

import numpy as np
from msgspec.structs import replace

from dbdyno.analysis.alignment import (
    Intervals,
    as_if_read,
    measured_intervals,
    over_intervals,
    whole_load,
)
from dbdyno.analysis.cost_amounts import CostAmount, cost_amounts
from dbdyno.analysis.estimate import SAMPLES_MIN
from dbdyno.analysis.ratios import Ratio, ratio, widened
from dbdyno.analysis.readings import Growth, growth
from dbdyno.analysis.script_costs import costs_by_script
from dbdyno.model.record import CostRecord
from dbdyno.model.recording import Recording

# 95 % of the differences of two lags that are each uniform up to a second: 1 − √0.05.
LAG_S = 0.78


def costs(recording: Recording) -> list[CostRecord]:
    """Return every cost that was measured, those of all scripts together before those of each."""
    intervals = measured_intervals(recording)
    spent = cost_amounts(recording, intervals)
    of_all = [record for numerator in spent if (record := _of_all(numerator, intervals))]
    if load := whole_load(recording):
        of_all = _over_load(recording, load, of_all)
    return of_all + costs_by_script(recording, intervals, spent)


def _over_load(
    recording: Recording, load: Intervals, measured: list[CostRecord]
) -> list[CostRecord]:
    """The costs over the whole load, as uncertain as those over its intervals.

    Those over the intervals stand for what is not known of the whole.
    """
    is_complete = _are_all_published(recording, load)
    found = {each.id: each for each in measured}
    of_load = [
        _with_interval_of(found.pop(record.id, record), record)
        for numerator in cost_amounts(recording, load)
        if (is_complete or numerator.is_prompt) and (record := _of_all(numerator, load))
    ]
    return [*of_load, *found.values()]


def _are_all_published(recording: Recording, load: Intervals) -> bool:
    """Whether the last reading shows what is published late, such as each transaction's commit."""
    commits = growth(recording, "pg_stat_database", "xact_commit")
    return commits is None or bool(over_intervals(commits, load)[0] >= load.committed[0])


def _with_interval_of(measured: CostRecord, load: CostRecord) -> CostRecord:
    if measured.low is None or measured.high is None:
        return replace(load, window="load")
    half = measured.high - measured.value
    low, high = max(load.value - half, 0.0), load.value + half
    return replace(load, low=low, high=high, window="load")


def _under_load(readings: Growth, intervals: Intervals) -> int:
    """Number of readings that distinguish the intervals: all within one reading share its value."""
    begin_s, end_s = intervals.begin_s.min(initial=np.inf), intervals.end_s.max(initial=0.0)
    return int(((readings.time_s > begin_s) & (readings.time_s <= end_s)).sum())


def cost(found: list[CostRecord], wanted: str) -> float | None:
    """The value of one cost of all scripts together; None if it was not measured."""
    values = (record.value for record in found if record.id == wanted and not record.script)
    return next(values, None)


def _of_all(numerator: CostAmount, intervals: Intervals) -> CostRecord | None:
    committed = intervals.committed
    if numerator.readings and not intervals.is_load:
        committed = as_if_read(committed, intervals, numerator.readings)
    known = ~np.isnan(numerator.amount + committed)
    found = ratio(numerator.amount[known], committed[known])
    if found and numerator.readings and _under_load(numerator.readings, intervals) < SAMPLES_MIN:
        found = Ratio(found.value, None, None)
    if found and not numerator.is_prompt:
        length_s = float((intervals.end_s - intervals.begin_s)[known].sum())
        found = widened(found, LAG_S / length_s)
    return numerator.record(found) if found else None
