"""Where a series changes its level, and changes back: any number of places.

E-divisive (:mod:`~dbdyno.analysis.e_divisive`). Its permutation test, which is slow and gives a
different answer each time, is replaced by a test of the two means, as in Hunter. Unlike Hunter's,
this test allows for the autocorrelation of the seconds of one run, and its limit for the search
over places. :mod:`~dbdyno.analysis.steadiness` tests for one change in a whole run, with an exact
limit; this module also finds a dip in the middle.
"""

from itertools import pairwise

import numpy as np

from dbdyno.analysis.e_divisive import e_divisive, significant_changes
from dbdyno.analysis.estimate import Series, autocorrelation_time

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
    found = e_divisive(means, SEGMENT_MIN, _weakness_alone, -_LIMIT)
    long_enough = _without_short(found, len(means), shortest / together)
    kept = significant_changes(means, long_enough, _weakness, -_LIMIT)
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


def _weakness_alone(before: Series, after: Series) -> float:
    """Weakness of a place, with samples treated as independent.

    Autocorrelation cannot be estimated while a part may still contain other changes, which make its
    samples look alike.
    """
    return -_strength(before, after)


def _weakness(before: Series, after: Series) -> float:
    """Weakness of a place, with autocorrelated samples: τ of them are worth one."""
    return -_strength(before, after) / autocorrelation_time(_rest(before, after), means=2)


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
