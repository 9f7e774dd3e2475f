"""What a response consists of over time: work, waits for locks and other waits, by statement.

How long a statement takes is what the engine timed; which part of that is waiting, and for what, is
the share of its session samples in the same stretch of time. A stretch is as long as it takes for
several samples: shares of one sample are 0 or 1.
"""

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from dbdyno.analysis.series.timeline import Timeline, are_whole, timeline, whole_intervals
from dbdyno.analysis.statistics.estimate import Series
from dbdyno.analysis.waits.session_samples import SESSIONS
from dbdyno.analysis.waits.wait_bands import statement_sessions
from dbdyno.model.database import PartKind
from dbdyno.model.run import Run, once

SAMPLES_MIN = 10
STRETCHES_MAX = 360
_WORKING: frozenset[PartKind] = frozenset({"cpu", "client_or_network"})
_SPLIT = ("working", "other_wait", "lock")


class Parts(Struct, frozen=True, kw_only=True):
    """Milliseconds in each stretch, which add up to the mean; NaN where nothing was executed.

    ``working`` is on a CPU or in transit. ``unseen`` is what no sample saw.
    """

    mean_ms: Series
    working_ms: Series
    other_wait_ms: Series
    lock_ms: Series
    unseen_ms: Series


class ResponseParts(Struct, frozen=True, kw_only=True):
    """Stretches of time with the parts of one transaction, and of each statement's execution."""

    begin_s: Series
    seconds: Series
    transaction: Parts
    statements: dict[int, Parts]


@once
def response_parts(run: Run) -> ResponseParts | None:
    """None if sessions were not sampled."""
    sessions, line = statement_sessions(run), whole_intervals(run)
    if not sessions:
        return None
    size = _stretch(run, line)
    starts = np.arange(0, len(line.time_s), size)
    counts, times_ms = _executions(run, line)
    shares = {number: _shares(of, starts) for number, of in sessions.items()}
    unseen = dict.fromkeys(_SPLIT, np.zeros(len(starts)))
    amounts_ms = {
        number: {
            part: np.add.reduceat(its_ms, starts) * share
            for part, share in shares.get(number, unseen).items()
        }
        | {"mean": np.add.reduceat(its_ms, starts)}
        for number, its_ms in times_ms.items()
    }
    # However a transaction ends, it has executed statements.
    intervals = run.intervals
    ended = (intervals.completed_ok + intervals.completed_failed).astype(float)
    ended = ended[are_whole(intervals.seconds)]
    all_ms = {
        part: np.sum([its[part] for its in amounts_ms.values()], axis=0)
        for part in (*_SPLIT, "mean")
    }
    return ResponseParts(
        begin_s=line.time_s[starts],
        seconds=np.add.reduceat(line.seconds, starts),
        transaction=_parts(all_ms, np.add.reduceat(ended, starts)),
        statements={
            number: _parts(its, np.add.reduceat(counts[number], starts))
            for number, its in amounts_ms.items()
        },
    )


def _stretch(run: Run, line: Timeline) -> int:
    """Intervals in a stretch."""
    samples = int((run.samples.source == SESSIONS).sum())
    for_samples = SAMPLES_MIN * len(line.time_s) / max(samples, 1)
    return max(1, int(np.ceil(max(for_samples, len(line.time_s) / STRETCHES_MAX))))


def _executions(run: Run, line: Timeline) -> tuple[dict[int, Series], dict[int, Series]]:
    """How often each statement was executed in each whole interval, and the milliseconds spent."""
    table = run.statements
    intervals = run.intervals.interval[np.isin(timeline(run).time_s, line.time_s)]
    place = np.searchsorted(intervals, table.interval)
    place[place == len(intervals)] = 0
    is_whole = intervals[place] == table.interval
    spent_ms = np.where(table.count > 0, table.count * table.mean_ms.astype(float), 0.0)
    counts: dict[int, Series] = {}
    times_ms: dict[int, Series] = {}
    for number in np.unique(table.statement[is_whole]).tolist():
        chosen = is_whole & (table.statement == number)
        counts[number] = _sums(place[chosen], table.count[chosen], len(intervals))
        times_ms[number] = _sums(place[chosen], spent_ms[chosen], len(intervals))
    return counts, times_ms


def _sums(places: np.ndarray, amounts: Series, length: int) -> Series:
    return np.bincount(places, amounts, length).astype(float)


def _shares(sessions: Mapping[PartKind, Series], starts: np.ndarray) -> dict[str, Series]:
    """Each part's share of a statement's samples in each stretch; all 0 where there are none."""
    sums = {part: np.zeros(len(starts)) for part in _SPLIT}
    for kind, its in sessions.items():
        part = "lock" if kind == "lock" else "working" if kind in _WORKING else "other_wait"
        sums[part] = sums[part] + np.add.reduceat(np.nan_to_num(its), starts)
    whole = np.sum(list(sums.values()), axis=0)
    return {part: its / np.where(whole > 0, whole, 1.0) for part, its in sums.items()}


def _parts(amounts_ms: Mapping[str, Series], executions: Series) -> Parts:
    number = np.where(executions > 0, executions, np.nan)
    means = {part: its / number for part, its in amounts_ms.items()}
    seen = np.sum([means[part] for part in _SPLIT], axis=0)
    return Parts(
        mean_ms=means["mean"],
        working_ms=means["working"],
        other_wait_ms=means["other_wait"],
        lock_ms=means["lock"],
        unseen_ms=np.maximum(means["mean"] - seen, 0.0),
    )
