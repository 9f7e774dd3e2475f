"""Latency distributions: of the whole run from histograms, of intervals from coarse buckets."""

import numpy as np
from numpy.typing import NDArray

from dbdyno.model.frame import bucket_low_ns
from dbdyno.model.record import Latency
from dbdyno.model.recording import Column, Columns, Histograms, Recording

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}

# Of all that 64 bits of nanoseconds have, and the end of the last.
_LOW_MS = np.array([bucket_low_ns(index) for index in range(498)], dtype=np.float64) / 1e6


def total_histogram(
    recording: Recording, histograms: Histograms, kind: str, number: int | None = None
) -> bytes | None:
    """The histogram of the whole measured part; of an unfinished run, of its whole windows.

    ``kind`` is ``script_response``, ``script_service`` or ``statement``; without a number
    all scripts are taken together.
    """
    for table in ("totals", "windows"):
        columns = recording.tables[table]
        wanted = columns["kind"] == kind
        if number is not None:
            wanted &= columns["number"] == number
        if wanted.any():
            return histograms.merge(columns["histogram"][wanted].tolist())
    return None


def sample_count(histogram: bytes, histograms: Histograms) -> int:
    """How many values were recorded."""
    return int(histograms.bar_columns(histogram)[2].sum())


def latency(histogram: bytes | None, histograms: Histograms) -> Latency | None:
    """Mean, percentiles and maximum in milliseconds; None when nothing was recorded."""
    if histogram is None:
        return None
    low, high, count = histograms.bar_columns(histogram)
    if not count.sum():
        return None
    mean_ns = float(((low + high) / 2) @ count / count.sum())
    at = histograms.quantiles(histogram, [*QUANTILES.values(), 1.0])
    named = dict(zip((*QUANTILES, "max"), (ns / 1e6 for ns in at), strict=True))
    return Latency(mean=mean_ns / 1e6, **named)


def bucket_low_ms(buckets: Column) -> NDArray[np.float64]:
    """Where coarse buckets begin."""
    return _LOW_MS[np.asarray(buckets, dtype=np.int64)]


def bucket_matrix(buckets: Columns, intervals: int) -> NDArray[np.int64]:
    """Counts by interval (rows, in the order of their numbers) and bucket, over all scripts."""
    width = int(buckets["bucket"].max(initial=0)) + 1
    matrix = np.zeros((intervals, width), dtype=np.int64)
    np.add.at(matrix, (buckets["interval"], buckets["bucket"]), buckets["count"])
    return matrix


def coarse_quantile_ms(matrix: NDArray[np.int64], quantile: float) -> NDArray[np.float64]:
    """The quantile of each interval, at the upper end of its bucket: at most 1/8 too long.

    NaN for an interval in which nothing ended.
    """
    totals = matrix.sum(axis=1)
    rank = np.maximum(np.ceil(totals * quantile), 1)
    place = (np.cumsum(matrix, axis=1) < rank[:, None]).sum(axis=1)
    ends = bucket_low_ms(np.minimum(place, matrix.shape[1] - 1) + 1)
    return np.where(totals > 0, ends, np.nan)
