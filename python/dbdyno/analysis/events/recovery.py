"""What a planned event cost the load: its failures, and when its throughput was back.

Instants of the load are known to the measurement interval. The record of each event comes with what
the witness saw of it (``run/bystanders/witness.py``).
"""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from dbdyno.analysis.series.timeline import timeline
from dbdyno.analysis.statistics.estimate import Series
from dbdyno.analysis.statistics.spans import Mask
from dbdyno.model.record import FailoverRecord
from dbdyno.model.run import Run
from dbdyno.model.tables import rows

LEVEL_S = 10.0
"""For how long before an event the level is taken that the load has to regain."""
LEVEL_SHARE = 0.9


def loses_too_much(failover: FailoverRecord) -> bool:
    """Whether commits were lost that the settings do not allow to be lost."""
    lost_ms, allowed_ms = failover.lost_ms, failover.loss_allowed_ms
    if lost_ms is None or allowed_ms is None:
        return False
    # Where none may be, one that was acknowledged in the last moment is one, too.
    return allowed_ms == 0 or lost_ms > allowed_ms


def with_recovery(run: Run, failovers: Sequence[FailoverRecord]) -> list[FailoverRecord]:
    """Return the records of a run's events, in order, with what they cost the load."""
    found: list[FailoverRecord] = []
    measured = timeline(run).measured()
    begins_s, ends_s = measured.time_s, measured.time_s + measured.seconds
    settled_s, wanted_tps = 0.0, 0.0
    for number, one in enumerate(failovers, 1):
        until_s = failovers[number].at_s if number < len(failovers) else np.inf
        level_tps = level_90_ms = None
        before = (begins_s >= max(settled_s, one.at_s - LEVEL_S)) & (ends_s <= one.at_s)
        if before.any():
            level_tps = float(np.average(measured.tps[before], weights=measured.seconds[before]))
            wanted_tps = LEVEL_SHARE * level_tps
        back_s = None
        commits_s = one.at_s + (one.first_commit_ms or 0) / 1e3
        over_s = max(commits_s, one.at_s + (one.took_ms or 0) / 1e3)
        if one.first_error_ms is None or one.first_commit_ms is not None:
            after = (ends_s > one.at_s) & (ends_s <= until_s)
            is_high = measured.tps[after] >= wanted_tps
            back_s = _back_s(ends_s[after], is_high, one.at_s, commits_s, over_s)
        if level_tps is not None and back_s is not None:
            level_90_ms = (back_s - one.at_s) * 1e3
        # Until a load is as it was, there is no other level: what was to be regained still is.
        settled_s = np.inf if back_s is None else max(back_s, commits_s)
        complete = replace(one, level_tps=level_tps, level_90_ms=level_90_ms)
        found.append(_with_failures(run, complete, until_s))
    return found


def _back_s(
    ends_s: Series, is_high: Mask, at_s: float, commits_s: float, over_s: float
) -> float | None:
    """Return when the load had its level again: at the event if it always had it; None if never.

    ``ends_s`` are the ends of the intervals since the event, and ``is_high`` says which have
    enough. Those that end before there were commits again, at ``commits_s``, are not asked. The
    level is gone if it was before ``over_s``: commits may wait for long, without an error.
    """
    first = int(np.searchsorted(ends_s, commits_s, side="right"))
    if first == len(ends_s):
        return None
    # The interval that is asked first may be mostly from before the event: the next one is not.
    asked = int(np.searchsorted(ends_s, over_s, side="right")) + 2
    low = np.flatnonzero(~is_high[:asked])
    if not low.size:
        return at_s
    again = max(first, int(low[0]))
    return next(iter(ends_s[again:][is_high[again:]].tolist()), None)


def _with_failures(run: Run, one: FailoverRecord, until_s: float) -> FailoverRecord:
    """Count from the interval in which it began to the one in which the next event begins.

    Counts rise during the run: those of a time are the difference of two.
    """
    intervals, failures = run.intervals, run.failures
    ends_s = intervals.time_s + intervals.seconds
    first, last = (intervals.interval[ends_s <= at_s] for at_s in (one.at_s, until_s))
    totals: list[dict[tuple[str, str], tuple[int, int]]] = []
    for counted in (first, last):
        these = failures.where(np.isin(failures.interval, counted))
        columns = (these.failure_class, these.code, these.count, these.unknown)
        # The last row of a class and code has its total.
        totals.append({(kind, code): (n, unknown) for kind, code, n, unknown in rows(*columns)})
    before, after = totals
    by_class: dict[str, int] = {}
    unknown = 0
    for kind, (count, unknown_count) in after.items():
        count_before, unknown_before = before.get(kind, (0, 0))
        unknown += unknown_count - unknown_before
        if failed := count - count_before:
            by_class[kind[0]] = by_class.get(kind[0], 0) + failed
    return replace(one, failed_by_class=by_class, unknown=unknown)
