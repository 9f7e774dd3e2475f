"""The split of a series into the two parts that differ most.

The energy statistic of mean distances (Matteson and James, *Journal of the American Statistical
Association* 109, 2014). Whether the parts differ by more than chance is for the caller to test.
"""

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.estimate import Series

Matrix = NDArray[np.float64]


def best_split(series: Series, shortest: int) -> tuple[int, int]:
    """The place and end that divide the beginning of the series into the two most different parts.

    The largest Q = p(k − p)/k · (2·E|X − Y| − E|X − X′| − E|Y − Y′|) of X = the samples before p
    and Y = those from p to k: with an end k before that of the series, a dip is not hidden by what
    follows it. No part has fewer than ``shortest`` samples, and the series has two parts.
    """
    samples = len(series)
    sums = np.zeros((samples + 1, samples + 1))
    distances = np.abs(series[:, None] - series[None, :])
    sums[1:, 1:] = distances.cumsum(axis=0).cumsum(axis=1)
    place = np.arange(shortest, samples - shortest + 1)[:, None]
    end = np.arange(2 * shortest, samples + 1)[None, :]
    statistic = _energy_distance(sums, place, end, shortest)
    row, column = divmod(int(statistic.argmax()), statistic.shape[1])
    return int(place[row, 0]), int(end[0, column])


def _energy_distance(
    sums: Matrix, place: NDArray[np.int64], end: NDArray[np.int64], shortest: int
) -> Matrix:
    """Q of all pairs of a place and an end; −1 if the second part would be too short."""
    first, second = place, np.maximum(end - place, shortest)
    before, until = sums[place, place], sums[end, end]
    across = sums[place, end] - before
    after = until - before - 2 * across
    energy = 2 * across / (first * second)
    energy = energy - before / (first * (first - 1)) - after / (second * (second - 1))
    statistic = first * second / (first + second) * energy
    return np.where(end - place >= shortest, statistic, -1.0)
