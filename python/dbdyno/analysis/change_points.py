"""Where a series changes its level, and changes back: any number of places.

E-divisive with the energy statistic of mean distances (Matteson and James, *Journal of the
American Statistical Association* 109, 2014), and in place of its permutation test, which is
slow and answers differently each time, a test of the two means as Hunter has it (Fleming et
al., *Hunter: Using Change Point Detection to Hunt for Performance Regressions*, ICPE 2023).
Unlike Hunter's this test counts that seconds of one run resemble their neighbours, and its
limit that the place was searched for. :mod:`~dbdyno.analysis.steadiness` asks for one change
of a whole run, with an exact limit; here a dip in the middle is found too.
"""

from itertools import pairwise

import numpy as np

from dbdyno.analysis.energy import most_unlike
from dbdyno.analysis.estimate import Series, autocorrelation_time

SEGMENT_MIN = 3
SAMPLES_MAX = 600
# The squared t of a place that was searched for. In steady series of 60 to 300 samples it is
# exceeded by chance in fewer than one of 100, in one of 50 where neighbours resemble each
# other (φ = 0.5): the tests count.
_LIMIT = 25.0


def change_points(series: Series, shortest: int = SEGMENT_MIN) -> list[int]:
    """The first sample of each new level, in order; no level is shorter than ``shortest``.

    A series of more than 600 samples is cut into so many pieces of equal length, and places
    are told to a piece.
    """
    together = max(-(-len(series) // SAMPLES_MAX), 1)
    whole = len(series) // together * together
    means = series[:whole].reshape(-1, together).mean(axis=1)
    long_enough = _without_short(_divide(means, 0), len(means), shortest / together)
    return [place * together for place in _without_weak(means, long_enough)]


def _divide(series: Series, offset: int) -> list[int]:
    """The changes within a part, told as places of the whole, and some that are none.

    How much neighbours resemble each other cannot be told here: other changes that are still
    in a part make its samples look alike.
    """
    if len(series) < 2 * SEGMENT_MIN:
        return []
    place, end = most_unlike(series, SEGMENT_MIN)
    if _strength(series[:place], series[place:end]) <= _LIMIT:
        return []
    before = _divide(series[:place], offset)
    after = _divide(series[place:], offset + place)
    return [*before, offset + place, *after]


def _without_short(places: list[int], samples: int, shortest: float) -> list[int]:
    """Only so many that what is between them is long enough; the first of a pair is dropped.

    If the level is the same after a short part as before it, the second will prove weak.
    """
    kept: list[int] = []
    for place, after in pairwise([*places, samples]):
        if after - place >= shortest and place - (kept[-1] if kept else 0) >= shortest:
            kept.append(place)
    return kept


def _without_weak(series: Series, places: list[int]) -> list[int]:
    """Only those that stand out between their neighbours, the weakest dropped first.

    Between two neighbours the samples resemble each other by their own nature, so τ of them
    are worth one.
    """
    kept = list(places)
    while kept:
        bounds = [0, *kept, len(series)]
        strengths = [
            _strength(series[begin:place], series[place:end])
            / autocorrelation_time(_rest(series[begin:place], series[place:end]), means=2)
            for begin, place, end in zip(bounds, kept, bounds[2:], strict=False)
        ]
        weakest = int(np.argmin(strengths))
        if strengths[weakest] > _LIMIT:
            return kept
        del kept[weakest]
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
