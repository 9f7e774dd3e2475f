"""Latency distributions: of the whole run from histograms, of intervals from coarse buckets."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from dbdyno.model.frame import bucket_low_ns
from dbdyno.model.record import Latency
from dbdyno.model.run import Histograms, Run, once
from dbdyno.model.tables import Column, Latencies, OfInterval, ScriptBuckets

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}

# The table with the intervals of each kind, and its numbers of scripts or statements.
_INTERVALS_OF: Mapping[str, Callable[[Run], tuple[Latencies, Column]]] = {
    "script_response": lambda run: (run.scripts, run.scripts.script),
    "script_service": lambda run: (run.services, run.services.script),
    "statement": lambda run: (run.statements, run.statements.statement),
}

# Lower bounds of all buckets that 64 bits of nanoseconds can have, and the end of the last.
_LOW_MS = np.array([bucket_low_ns(index) for index in range(498)], dtype=np.float64) / 1e6


def total_histogram(run: Run, kind: str, number: int | None = None) -> bytes | None:
    """The histogram of the whole measured part; in an unfinished run, of its whole windows.

    ``kind`` is ``script_response``, ``script_service`` or ``statement``; without a number all
    scripts are merged.
    """
    for found in (run.totals, run.windows):
        wanted = found.kind == kind
        if number is not None:
            wanted &= found.number == number
        if wanted.any():
            return run.histograms.merge(found.histogram[wanted].tolist())
    return None


def sample_count(histogram: bytes, histograms: Histograms) -> int:
    """Number of recorded values."""
    return int(histograms.bar_columns(histogram)[2].sum())


def latency(run: Run, kind: str, number: int | None = None) -> Latency | None:
    """Mean, percentiles and maximum in milliseconds; None if nothing was recorded.

    A histogram is only as exact as the width of its buckets: mean and maximum are taken from the
    intervals, which have the exact values, and no percentile exceeds the maximum.
    """
    histogram = total_histogram(run, kind, number)
    table, numbers = _INTERVALS_OF[kind](run)
    wanted = is_after_warmup(run, table) & (table.count > 0)
    if number is not None:
        wanted &= numbers == number
    count, mean = table.count[wanted].astype(np.int64), table.mean_ms[wanted]
    if histogram is None or not count.sum():
        return None
    max_ms = float(table.max_ms[wanted].max())
    at = run.histograms.quantiles(histogram, list(QUANTILES.values()))
    named = {name: min(ns / 1e6, max_ms) for name, ns in zip(QUANTILES, at, strict=True)}
    return Latency(mean=float(mean @ count / count.sum()), **named, max=max_ms)


def latency_of(histogram: bytes, histograms: Histograms) -> Latency | None:
    """Mean, percentiles and maximum of a histogram alone, as exact as the width of its buckets."""
    low, high, count = histograms.bar_columns(histogram)
    if not count.sum():
        return None
    at = histograms.quantiles(histogram, list(QUANTILES.values()))
    named = {name: ns / 1e6 for name, ns in zip(QUANTILES, at, strict=True)}
    middle_ms = (low.astype(np.float64) + high) / 2e6
    mean = float(middle_ms @ count / count.sum())
    return Latency(mean=mean, **named, max=float(high[-1]) / 1e6)


@once
def response_ms(run: Run) -> Latency | None:
    """The response times of all scripts; None if none is known."""
    if run.record.imported:
        return run.record.response_ms
    return latency(run, "script_response")


def is_after_warmup(run: Run, table: OfInterval) -> NDArray[np.bool_]:
    """Mask of the rows of a table that belong to intervals after the warm-up."""
    intervals = run.intervals
    warmup = intervals.interval[intervals.phase == "warmup"]
    return ~np.isin(table.interval, warmup)


def bucket_low_ms(buckets: Column) -> NDArray[np.float64]:
    """Lower bounds of coarse buckets."""
    return _LOW_MS[np.asarray(buckets, dtype=np.int64)]


def bucket_matrix(buckets: ScriptBuckets, intervals: int) -> NDArray[np.int64]:
    """Counts by interval (rows, in the order of their numbers) and bucket, over all scripts."""
    width = int(buckets.bucket.max(initial=0)) + 1
    matrix = np.zeros((intervals, width), dtype=np.int64)
    np.add.at(matrix, (buckets.interval, buckets.bucket), buckets.count)
    return matrix


def coarse_quantile_ms(matrix: NDArray[np.int64], quantile: float) -> NDArray[np.float64]:
    """The quantile of each interval, as if the values of a bucket were spread evenly over it.

    A bucket is an eighth of an octave wide, which bounds the error. NaN for an interval in which
    nothing completed.
    """
    totals = matrix.sum(axis=1)
    rank = totals * quantile
    up_to = np.cumsum(matrix, axis=1)
    place = np.minimum((up_to < rank[:, None]).sum(axis=1), matrix.shape[1] - 1)
    row = np.arange(len(matrix))
    within = matrix[row, place]
    share = (rank - up_to[row, place] + within) / np.maximum(within, 1)
    low, high = bucket_low_ms(place), bucket_low_ms(place + 1)
    return np.where(totals > 0, low + (high - low) * share, np.nan)
