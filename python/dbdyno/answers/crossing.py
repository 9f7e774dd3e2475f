"""Where two numbers that grow along a factor cross: at which level, with its interval.

Each block of runs has a crossing of its own, interpolated between two levels by a straight line on
logarithms; the interval is that over blocks. Of several crossings the highest counts: below it the
two may cross for reasons that are unrelated to growth.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from dbdyno.analysis.statistics.effect import Ratio, paired_ratio
from dbdyno.answers.answer import Trial
from dbdyno.answers.grouping import Number


class Crossing(Struct, frozen=True, kw_only=True):
    """Ratios of the first number to the second by level, and where they pass 1 for good.

    ``at`` is None if some block has no crossing; ``is_decided`` is true if the ratios at a level
    below it and at a level above it differ significantly from 1.
    """

    ratios: Mapping[float, Ratio]
    at: Ratio | None
    is_decided: bool


def crossing(among: Sequence[Trial], over: str, first: Number, second: Number) -> Crossing | None:
    """None if no run has both numbers."""
    logs = _logarithms(among, over, first, second)
    if not logs:
        return None
    ratios = {
        level: paired_ratio([(1.0, math.exp(value)) for value in of.values()])
        for level, of in sorted(logs.items())
    }
    places = _places(logs)
    at = paired_ratio([(1.0, place) for place in places]) if places else None
    return Crossing(
        ratios=ratios, at=at, is_decided=at is not None and _is_decided(ratios, at.value)
    )


def _logarithms(
    among: Sequence[Trial], over: str, first: Number, second: Number
) -> dict[float, dict[int, float]]:
    """The logarithm of the ratio, by level and block."""
    found: dict[float, dict[int, float]] = {}
    for trial in among:
        one, other = first(trial), second(trial)
        if one and other:
            found.setdefault(float(trial.point[over]), {})[trial.block] = math.log(one / other)
    return found


def _places(logs: Mapping[float, Mapping[int, float]]) -> list[float]:
    """The crossing of each block; empty unless all blocks have one."""
    blocks = sorted({block for of in logs.values() for block in of})
    places = [
        _place([(level, of[block]) for level, of in sorted(logs.items()) if block in of])
        for block in blocks
    ]
    known = [place for place in places if place is not None]
    return known if len(known) == len(places) else []


def _place(series: Sequence[tuple[float, float]]) -> float | None:
    """Where the series last rises through 0; None if it does not end above 0."""
    for (low, before), (high, after) in reversed(list(pairwise(series))):
        if after <= 0:
            return None
        if before <= 0:
            share = -before / (after - before)
            return math.exp(math.log(low) + share * math.log(high / low))
    return None


def _is_decided(ratios: Mapping[float, Ratio], at: float) -> bool:
    below = any(of.is_significant and of.value < 1 for level, of in ratios.items() if level < at)
    above = any(of.is_significant and of.value > 1 for level, of in ratios.items() if level > at)
    return below and above
