"""Change points of a series: E-divisive, with a significance test that the caller supplies.

A series is divided where two parts differ most, then each part again (Matteson and James, *Journal
of the American Statistical Association* 109, 2014). First with a lenient test, because a change
beside another looks weak until both are known; then all changes that do not stand out between their
neighbours are dropped, the weakest first (Fleming et al., *Hunter: Using Change Point Detection to
Hunt for Performance Regressions*, ICPE 2023). What counts as a change is for the caller's test to
say.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from dbdyno.analysis.energy_statistic import best_split
from dbdyno.analysis.estimate import Series

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
