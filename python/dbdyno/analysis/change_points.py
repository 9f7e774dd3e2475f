"""Where a series changes its level, and changes back: any number of places.

E-divisive (:mod:`~dbdyno.analysis.e_divisive`), and in place of its permutation test, which is slow
and answers differently each time, a test of the two means as Hunter has it.
Unlike Hunter's this test counts that seconds of one run resemble their neighbours, and its
limit that the place was searched for. :mod:`~dbdyno.analysis.steadiness` asks for one change
of a whole run, with an exact limit; here a dip in the middle is found too.
"""

from itertools import pairwise

import numpy as np

from dbdyno.analysis.e_divisive import e_divisive, significant_changes
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
    found = e_divisive(means, SEGMENT_MIN, _weakness_alone, -_LIMIT)
    long_enough = _without_short(found, len(means), shortest / together)
    kept = significant_changes(means, long_enough, _weakness, -_LIMIT)
    return [place * together for place in kept]


def _without_short(places: list[int], samples: int, shortest: float) -> list[int]:
    """Only so many that what is between them is long enough; the first of a pair is dropped.

    If the level is the same after a short part as before it, the second will prove weak.
    """
    kept: list[int] = []
    for place, after in pairwise([*places, samples]):
        if after - place >= shortest and place - (kept[-1] if kept else 0) >= shortest:
            kept.append(place)
    return kept


def _weakness_alone(before: Series, after: Series) -> float:
    """Of samples as if they were independent.

    How much neighbours resemble each other cannot be told while other changes may still be in a
    part: they make its samples look alike.
    """
    return -_strength(before, after)


def _weakness(before: Series, after: Series) -> float:
    """Of samples that resemble their neighbours by their own nature: τ of them are worth one."""
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
