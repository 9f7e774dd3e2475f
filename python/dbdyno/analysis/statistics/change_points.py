"""Where a series changes its level, and changes back: any number of places.

A series is divided where two parts differ most, by the energy statistic of mean distances, then
each part again (E-divisive: Matteson and James, *Journal of the American Statistical Association*
109, 2014). First with a lenient test, because a change beside another looks weak until both are
known; then all changes that do not stand out between their neighbours are dropped, the weakest
first (Fleming et al., *Hunter: Using Change Point Detection to Hunt for Performance Regressions*,
ICPE 2023). What counts as a change is for the caller's test to say.

For the seconds of one run the permutation test, which is slow and gives a different answer each
time, is replaced by a test of the two means, as in Hunter. Unlike Hunter's, this test allows for
the autocorrelation of the seconds, and its limit for the search over places.
:mod:`~dbdyno.analysis.series.steadiness` tests for one change in a whole run, with an exact limit;
this module also finds a dip in the middle.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.statistics.estimate import Series, autocorrelation_time

SplitTest: TypeAlias = Callable[[Series, Series], float]
"""How little the samples before a place differ from those after it: the larger, the weaker."""


def e_divisive(series: Series, shortest: int, weakness: SplitTest, limit: float) -> list[int]:
    """The candidate changes in order, insignificant ones among them."""
    if len(series) < 2 * shortest:
        return []
    place, end = best_split(series, shortest)
    if weakness(series[:place], series[place:end]) > limit:
        return []
    before = e_divisive(series[:place], shortest, weakness, limit)
    after = e_divisive(series[place:], shortest, weakness, limit)
    return [*before, place, *(place + one for one in after)]


def significant_changes(
    series: Series, places: Sequence[int], weakness: SplitTest, limit: float
) -> list[int]:
    """The changes that stand out between their neighbours."""
    kept = list(places)
    while kept:
        bounds = [0, *kept, len(series)]
        weak = [
            weakness(series[begin:place], series[place:end])
            for begin, place, end in zip(bounds, kept, bounds[2:], strict=False)
        ]
        weakest = int(np.argmax(weak))
        if weak[weakest] <= limit:
            return kept
        del kept[weakest]
    return kept


SEGMENT_MIN = 3
SAMPLES_MAX = 600
# Limit of the squared t of a place that was searched for. In steady series of 60 to 300 samples it
# is exceeded by chance in fewer than one of 100, or one of 50 with autocorrelation (φ = 0.5); a
# test counts this.
_LIMIT = 25.0


def change_points(series: Series, shortest: int = SEGMENT_MIN) -> list[int]:
    """Return the first sample of each new level, in order; no level is shorter than ``shortest``.

    A series of more than 600 samples is averaged over at most 600 pieces of equal length, and
    places are exact to one piece.
    """
    together = max(-(-len(series) // SAMPLES_MAX), 1)
    whole = len(series) // together * together
    means = series[:whole].reshape(-1, together).mean(axis=1)
    # Autocorrelation cannot be estimated while a part may still contain other changes, which make
    # its samples look alike: at first they are treated as independent.
    found = e_divisive(means, SEGMENT_MIN, lambda before, after: -_strength(before, after), -_LIMIT)
    long_enough = _without_short(found, len(means), shortest / together)
    # Of autocorrelated samples, τ are worth one.
    kept = significant_changes(
        means,
        long_enough,
        lambda before, after: (
            -_strength(before, after) / autocorrelation_time(_rest(before, after), means=2)
        ),
        -_LIMIT,
    )
    return [place * together for place in kept]


def _without_short(places: list[int], samples: int, shortest: float) -> list[int]:
    """Drop the first of two places that are too close, so that every level is long enough.

    If the level is the same after a short part as before it, the second will prove weak.
    """
    kept: list[int] = []
    for place, after in pairwise([*places, samples]):
        if after - place >= shortest and place - (kept[-1] if kept else 0) >= shortest:
            kept.append(place)
    return kept


def _strength(before: Series, after: Series) -> float:
    """The squared t of two means, as if samples were independent: d² / (v·(1/n₁ + 1/n₂))."""
    rest = _rest(before, after)
    noise = float(rest @ rest) / (len(rest) - 2) * (1 / len(before) + 1 / len(after))
    difference = float(after.mean() - before.mean()) ** 2
    if noise == 0:
        return np.inf if difference else 0.0
    return difference / noise


def _rest(before: Series, after: Series) -> Series:
    return np.concatenate([before - before.mean(), after - after.mean()])


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
