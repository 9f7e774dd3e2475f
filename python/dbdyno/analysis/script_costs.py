"""The cost of one transaction of each script, if the scripts can be distinguished.

Two methods: the server's statistics of single statements, whose costs belong to the script that
contains them; and a regression of the amount spent in each interval on the transactions of each
script that completed in it, if the mix varied enough.
"""

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.alignment import Intervals, as_if_read, over_intervals
from dbdyno.analysis.cost_amounts import CostAmount
from dbdyno.analysis.estimate import Series
from dbdyno.analysis.least_squares import fit
from dbdyno.analysis.ratios import Ratio, ratio
from dbdyno.analysis.readings import growth, objects
from dbdyno.model.record import CostRecord
from dbdyno.model.recording import Recording, rows

STATEMENTS = "pg_stat_statements"
_BY_STATEMENT = {
    "buffers_hit": "shared_blks_hit",
    "buffers_read": "shared_blks_read",
    "buffers_dirtied": "shared_blks_dirtied",
    "wal_records": "wal_records",
    "wal_bytes": "wal_bytes",
    "full_page_images": "wal_fpi",
}
_REACH_MAX = 0.25
_INTERVALS_A_SCRIPT_MIN = 10


def costs_by_script(
    recording: Recording, intervals: Intervals, spent: list[CostAmount]
) -> list[CostRecord]:
    """Nothing if there is one script: its costs are those of all."""
    names = [script["name"] for script in recording.plan.get("scripts", [])]
    if len(names) < 2:
        return []
    ended = _ended_by_script(recording, intervals, len(names))
    found = []
    for numerator in spent:
        ratios = _by_statements(recording, intervals, numerator, ended)
        if not ratios and numerator.readings and numerator.is_prompt:
            causes = [as_if_read(each, intervals, numerator.readings) for each in ended.T]
            ratios = _by_mix(numerator.amount, np.stack(causes, axis=1))
        found += [numerator.record(of, name) for name, of in zip(names, ratios, strict=False) if of]
    return found


def _ended_by_script(
    recording: Recording, intervals: Intervals, scripts: int
) -> NDArray[np.float64]:
    """Committed transactions: one row per interval, one column per script."""
    table = recording.tables["scripts"]
    number = recording.tables["intervals"]["interval"]
    ended = np.zeros((len(number), scripts))
    ended[np.searchsorted(number, table["interval"]), table["script"]] = table["committed"]
    return ended[intervals.place]


def _by_statements(
    recording: Recording, intervals: Intervals, numerator: CostAmount, ended: NDArray[np.float64]
) -> list[Ratio | None]:
    """Sums over each script's statements; without COMMIT, which the server counts separately."""
    column = _BY_STATEMENT.get(numerator.id)
    reported = set(objects(recording, STATEMENTS))
    if column is None or not any(of.startswith("statement ") for of in reported):
        return []
    amounts: list[Series] = [np.full(len(intervals.begin_s), np.nan)] * ended.shape[1]
    for statement, script in rows(recording.tables["statement_texts"], ("statement", "script")):
        of = f"statement {statement}"
        grown = growth(recording, STATEMENTS, column, of) if of in reported else None
        if grown:
            amount = over_intervals(grown, intervals)
            amounts[script] = np.nan_to_num(amounts[script]) + amount
    return [_known(amount, ended[:, script]) for script, amount in enumerate(amounts)]


def _known(amount: Series, ended: Series) -> Ratio | None:
    known = ~np.isnan(amount)
    return ratio(amount[known], ended[known])


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
