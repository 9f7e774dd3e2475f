"""Reduces the points of a chart that has more than it can show; captions say so, peaks remain."""

import numpy as np
from numpy.typing import NDArray

POINTS_MAX = 800

Values = NDArray[np.float64]


def group_size(points: int) -> int:
    """Number of intervals per point of a chart."""
    return max(1, -(-points // POINTS_MAX))


def _groups(values: Values, size: int) -> Values:
    padding = -len(values) % size
    return np.append(values.astype(float), [np.nan] * padding).reshape(-1, size)


def mean_of(values: Values, size: int) -> Values:
    """The mean of each group."""
    groups = _groups(values, size)
    known = ~np.isnan(groups)
    counts = known.sum(axis=1)
    sums = np.where(known, groups, 0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def worst_of(values: Values, size: int) -> Values:
    """The largest of each group."""
    worst: Values = np.fmax.reduce(_groups(values, size), axis=1)
    return worst


def json_numbers(values: Values) -> list[float | None]:
    """Four significant digits, which is more than a screen shows; None for NaN."""
    return [None if np.isnan(value) else float(f"{value:.4g}") for value in values.tolist()]
