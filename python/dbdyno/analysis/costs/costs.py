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

The cost of one transaction of each script has two methods: the server's statistics of single
statements, whose costs belong to the script that contains them; and a regression of the amount
spent in each interval on the transactions of each script that completed in it, if the mix varied
enough.
"""

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from dbdyno.analysis.costs.cost_amounts import CostAmount, cost_amounts
from dbdyno.analysis.series.alignment import (
    Intervals,
    as_if_read,
    measured_intervals,
    over_intervals,
    whole_load,
)
from dbdyno.analysis.series.readings import growth, objects
from dbdyno.analysis.statistics.estimate import SAMPLES_MIN, Ratio, Series, ratio, widened
from dbdyno.analysis.statistics.least_squares import fit
from dbdyno.model.counters import PgDatabase, PgStatements
from dbdyno.model.record import CostRecord
from dbdyno.model.run import Run, once
from dbdyno.model.tables import rows

_BY_STATEMENT = {
    "buffers_hit": PgStatements.shared_blks_hit,
    "buffers_read": PgStatements.shared_blks_read,
    "buffers_dirtied": PgStatements.shared_blks_dirtied,
    "wal_records": PgStatements.wal_records,
    "wal_bytes": PgStatements.wal_bytes,
    "full_page_images": PgStatements.wal_fpi,
}
_REACH_MAX = 0.25
_INTERVALS_A_SCRIPT_MIN = 10


def costs_by_script(run: Run, intervals: Intervals, spent: list[CostAmount]) -> list[CostRecord]:
    """Nothing if there is one script: its costs are those of all."""
    names = [script.name for script in run.plan.scripts]
    if len(names) < 2:
        return []
    # Committed transactions: one row per interval, one column per script.
    table, number = run.scripts, run.intervals.interval
    of_all = np.zeros((len(number), len(names)))
    of_all[np.searchsorted(number, table.interval), table.script] = table.committed
    ended = of_all[intervals.place]
    found = []
    for numerator in spent:
        ratios = _by_statements(run, intervals, numerator, ended)
        if not ratios and numerator.readings and numerator.is_prompt:
            causes = [as_if_read(each, intervals, numerator.readings) for each in ended.T]
            ratios = _by_mix(numerator.amount, np.stack(causes, axis=1))
        found += [numerator.record(of, name) for name, of in zip(names, ratios, strict=False) if of]
    return found


def _by_statements(
    run: Run, intervals: Intervals, numerator: CostAmount, ended: NDArray[np.float64]
) -> list[Ratio | None]:
    """Sums over each script's statements; without COMMIT, which the server counts separately."""
    counter = _BY_STATEMENT.get(numerator.id)
    reported = set(objects(run, PgStatements.source))
    if counter is None or not any(of.startswith("statement ") for of in reported):
        return []
    amounts: list[Series] = [np.full(len(intervals.begin_s), np.nan)] * ended.shape[1]
    for statement, script in rows(run.statement_texts.statement, run.statement_texts.script):
        of = f"statement {statement}"
        grown = growth(run, counter, of) if of in reported else None
        if grown:
            amount = over_intervals(grown, intervals)
            amounts[script] = np.nan_to_num(amounts[script]) + amount
    known = [~np.isnan(amount) for amount in amounts]
    return [
        ratio(amount[is_known], ended[is_known, script])
        for script, (amount, is_known) in enumerate(zip(amounts, known, strict=True))
    ]


def _by_mix(amount: Series, ended: NDArray[np.float64]) -> list[Ratio | None]:
    """Least squares with a constant for what is spent whichever scripts run.

    Empty unless every script's cost is known to within a quarter: a mix that hardly varies, as with
    weighted scripts on a fast server, does not identify its parts.
    """
    known = ~np.isnan(amount) & ~np.isnan(ended).any(axis=1)
    spent, causes = amount[known], np.column_stack([ended[known], np.ones(int(known.sum()))])
    samples, unknowns = causes.shape
    fitted = fit(spent, causes) if samples >= _INTERVALS_A_SCRIPT_MIN * unknowns else None
    if fitted is None:
        return []
    found = list(zip(fitted.value[:-1].tolist(), fitted.half[:-1].tolist(), strict=True))
    if any(half >= _REACH_MAX * value for value, half in found):
        return []
    return [Ratio(value, value - half, value + half) for value, half in found]


# 95 % of the differences of two lags that are each uniform up to a second: 1 − √0.05.
LAG_S = 0.78


@once
def costs(run: Run) -> list[CostRecord]:
    """Return every cost that was measured, those of all scripts together before those of each."""
    intervals = measured_intervals(run)
    spent = cost_amounts(run, intervals)
    of_all = [record for numerator in spent if (record := _of_all(numerator, intervals))]
    if load := whole_load(run):
        of_all = _over_load(run, load, of_all)
    return of_all + costs_by_script(run, intervals, spent)


def _over_load(run: Run, load: Intervals, measured: list[CostRecord]) -> list[CostRecord]:
    """The costs over the whole load, as uncertain as those over its intervals.

    Those over the intervals stand for what is not known of the whole.
    """
    # Whether the last reading shows what is published late, such as each transaction's commit.
    commits = growth(run, PgDatabase.xact_commit)
    is_complete = commits is None or over_intervals(commits, load)[0] >= load.committed[0]
    found = {each.id: each for each in measured}
    of_load = []
    for numerator in cost_amounts(run, load):
        record = _of_all(numerator, load) if is_complete or numerator.is_prompt else None
        if record is None:
            continue
        known = found.pop(record.id, record)
        if known.low is not None and known.high is not None:
            half = known.high - known.value
            low, high = max(record.value - half, 0.0), record.value + half
            record = replace(record, low=low, high=high)
        of_load.append(replace(record, window="load"))
    return [*of_load, *found.values()]


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
    if found and (readings := numerator.readings):
        # Only readings under load distinguish the intervals: all within one share its value.
        begin_s, end_s = intervals.begin_s.min(initial=np.inf), intervals.end_s.max(initial=0.0)
        if ((readings.time_s > begin_s) & (readings.time_s <= end_s)).sum() < SAMPLES_MIN:
            found = Ratio(found.value, None, None)
    if found and not numerator.is_prompt:
        length_s = float((intervals.end_s - intervals.begin_s)[known].sum())
        found = widened(found, LAG_S / length_s)
    return numerator.record(found) if found else None
