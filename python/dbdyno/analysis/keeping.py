"""How far a run kept to an objective, second by second.

A transaction that failed, or that was not done when the run ended, has not been done in time
either. How sure that is, :mod:`.sequential` says.
"""

from collections.abc import Iterable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.distributions import bucket_low_ms, bucket_matrix, total_histogram
from dbdyno.analysis.estimate import Series
from dbdyno.analysis.objective import Objective
from dbdyno.analysis.sequential import Judged, judge_mean, judge_share
from dbdyno.model.recording import Histograms, Recording

_UNDONE = ("skipped", "waiting", "in_flight", "unfinished")


class Windows(Struct, frozen=True):
    """The measured intervals in which something ended: how many did, and how many of them badly.

    An objective on the mean is judged by ``mean_ms`` of what was done, and knows nothing bad.
    """

    bad: Series
    total: Series
    mean_ms: Series


def windows(recording: Recording, histograms: Histograms, objective: Objective) -> Windows:
    """Interval by interval."""
    done, failed, mean_ms = _ended(recording)
    if objective.measure == "mean":
        bad, total = np.zeros_like(done), done
    elif objective.measure == "failures":
        bad, total = failed, done + failed
    else:
        undone = _undone(recording)
        bad = failed + undone + _slow(recording, histograms, objective.limit)
        total = done + failed + undone
    kept = _is_measured(recording) & (total > 0)
    return Windows(bad[kept], total[kept], mean_ms[kept])


def together(found: Iterable[Windows]) -> Windows:
    """Those of several runs, one after the other."""
    columns = zip(*((one.bad, one.total, one.mean_ms) for one in found), strict=True)
    return Windows(*(np.concatenate(column) for column in columns))


def judged(objective: Objective, found: Windows, error: float) -> Judged:
    """Whether the objective is kept to, as one of the looks that the error is stated for."""
    if objective.measure == "mean":
        return judge_mean(found.mean_ms, found.total, objective.limit, error)
    return judge_share(found.bad, found.total, objective.share_allowed, error)


def _is_measured(recording: Recording) -> NDArray[np.bool_]:
    measured: NDArray[np.bool_] = recording.tables["intervals"]["phase"] != "warmup"
    return measured


def _ended(recording: Recording) -> tuple[Series, Series, Series]:
    """How many were done and failed in each interval, and the mean time of those that were done."""
    intervals, scripts = recording.tables["intervals"], recording.tables["scripts"]
    place, number = scripts["interval"], len(intervals["interval"])
    done = np.bincount(place, scripts["count"], number)
    spent_ms = np.bincount(place, np.nan_to_num(scripts["mean_ms"]) * scripts["count"], number)
    failed = intervals["completed_failed"].astype(np.float64)
    return done.astype(np.float64), failed, spent_ms / np.maximum(done, 1)


def _undone(recording: Recording) -> Series:
    """Transactions that were due and came to no end, all in the last interval."""
    intervals = recording.tables["intervals"]
    last = {name: int(values[-1:].sum()) for name, values in intervals.items() if name in _UNDONE}
    done = recording.engine.get("done")
    undone = np.zeros(len(intervals["interval"]))
    undone[-1:] = sum((done["counters"] if done else last)[name] for name in _UNDONE)
    return undone


def _slow(recording: Recording, histograms: Histograms, limit_ms: float) -> Series:
    """How many took longer than the limit in each interval.

    An interval has coarse buckets alone. Of the bucket in which the limit lies such a share is
    taken that the sum over the run is that of its exact histogram.
    """
    intervals = len(recording.tables["intervals"]["interval"])
    matrix = bucket_matrix(recording.tables["script_buckets"], intervals)
    low_ms = bucket_low_ms(np.arange(matrix.shape[1] + 1))
    above = matrix[:, low_ms[:-1] >= limit_ms].sum(axis=1)
    astride = matrix[:, (low_ms[:-1] < limit_ms) & (low_ms[1:] > limit_ms)].sum(axis=1)
    measured = _is_measured(recording)
    missing = _slow_in_all(recording, histograms, limit_ms) - above[measured].sum()
    share = missing / max(int(astride[measured].sum()), 1)
    slow: Series = above + astride * min(max(share, 0.0), 1.0)
    return slow


def _slow_in_all(recording: Recording, histograms: Histograms, limit_ms: float) -> float:
    histogram = total_histogram(recording, histograms, "script_response")
    if histogram is None:
        return 0.0
    low, _, count = histograms.bar_columns(histogram)
    return float(count[low > limit_ms * 1e6].sum())
