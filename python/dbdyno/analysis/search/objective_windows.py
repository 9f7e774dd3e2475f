"""How far a run met an objective, interval by interval.

A transaction that failed, or was not finished when the run ended, also missed the limit.
:mod:`.sequential` computes how certain the result is.
"""

from collections.abc import Iterable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dbdyno.analysis.search.objective import Objective
from dbdyno.analysis.search.sequential import SequentialResult, judge_mean, judge_share
from dbdyno.analysis.series.distributions import bucket_low_ms, bucket_matrix, total_histogram
from dbdyno.analysis.series.totals import last_counts
from dbdyno.analysis.statistics.estimate import Series
from dbdyno.model.run import Run

_UNDONE = ("skipped", "waiting", "in_flight", "unfinished")


class Windows(Struct, frozen=True):
    """Transactions of each measured interval in which some ended, and how many missed the limit.

    An objective on the mean is evaluated by ``mean_ms`` of the successful ones; ``bad`` is 0.
    """

    bad: Series
    total: Series
    mean_ms: Series


def objective_windows(run: Run, objective: Objective) -> Windows:
    """The windows of one run."""
    done, failed, mean_ms = _ended(run)
    if objective.measure == "mean":
        bad, total = np.zeros_like(done), done
    elif objective.measure == "failures":
        bad, total = failed, done + failed
    else:
        # What was due and did not end is counted in the last interval.
        undone = np.zeros(len(done))
        undone[-1:] = sum(last_counts(run, _UNDONE).values())
        bad = failed + undone + _slow(run, objective.limit)
        total = done + failed + undone
    kept = _is_measured(run) & (total > 0)
    return Windows(bad[kept], total[kept], mean_ms[kept])


def concatenated(found: Iterable[Windows]) -> Windows:
    """The windows of several runs, one after the other."""
    columns = zip(*((one.bad, one.total, one.mean_ms) for one in found), strict=True)
    return Windows(*(np.concatenate(column) for column in columns))


def evaluate(objective: Objective, found: Windows, error: float) -> SequentialResult:
    """Whether the objective is met, as one of the interim analyses that ``error`` allows for."""
    if objective.measure == "mean":
        return judge_mean(found.mean_ms, found.total, objective.limit, error)
    return judge_share(found.bad, found.total, objective.share_allowed, error)


def _is_measured(run: Run) -> NDArray[np.bool_]:
    measured: NDArray[np.bool_] = run.intervals.phase != "warmup"
    return measured


def _ended(run: Run) -> tuple[Series, Series, Series]:
    """Successful and failed transactions of each interval, and the mean time of successful ones."""
    intervals, scripts = run.intervals, run.scripts
    place, number = scripts.interval, len(intervals)
    done = np.bincount(place, scripts.count, number)
    spent_ms = np.bincount(place, np.nan_to_num(scripts.mean_ms) * scripts.count, number)
    failed = intervals.completed_failed.astype(np.float64)
    return done.astype(np.float64), failed, spent_ms / np.maximum(done, 1)


def _slow(run: Run, limit_ms: float) -> Series:
    """How many took longer than the limit in each interval.

    An interval has only coarse buckets. The bucket that contains the limit is split so that the
    sum over the run equals that of its exact histogram.
    """
    intervals = len(run.intervals)
    matrix = bucket_matrix(run.script_buckets, intervals)
    low_ms = bucket_low_ms(np.arange(matrix.shape[1] + 1))
    above = matrix[:, low_ms[:-1] >= limit_ms].sum(axis=1)
    astride = matrix[:, (low_ms[:-1] < limit_ms) & (low_ms[1:] > limit_ms)].sum(axis=1)
    measured = _is_measured(run)
    in_all = 0.0
    if histogram := total_histogram(run, "script_response"):
        low, _, count = run.histograms.bar_columns(histogram)
        in_all = float(count[low > limit_ms * 1e6].sum())
    missing = in_all - above[measured].sum()
    share = missing / max(int(astride[measured].sum()), 1)
    slow: Series = above + astride * min(max(share, 0.0), 1.0)
    return slow
