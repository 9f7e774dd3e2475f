"""Where two numbers that grow along a factor cross: at which level, with its interval.

Each block of runs has a crossing of its own, interpolated between two levels by a straight line on
logarithms; the interval is that over blocks. Of several crossings the highest counts: below it the
two may cross for reasons that are unrelated to growth.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from dbdyno.analysis.statistics.effect import paired_ratio
from dbdyno.analysis.statistics.estimate import Ratio
from dbdyno.answers.answer import Trial
from dbdyno.answers.measuring import Number


class Crossing(Struct, frozen=True, kw_only=True):
    """Ratios of the first number to the second by level, and where they pass 1 for good.

    ``at`` is None if some block has no crossing.
    """

    ratios: Mapping[float, Ratio]
    at: Ratio | None

    @property
    def is_decided(self) -> bool:
        """Whether the ratios at a level below it and at one above differ significantly from 1."""
        if self.at is None:
            return False
        sure = {level: of.value for level, of in self.ratios.items() if of.is_significant}
        below = any(ratio < 1 for level, ratio in sure.items() if level < self.at.value)
        above = any(ratio > 1 for level, ratio in sure.items() if level > self.at.value)
        return below and above


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
    return Crossing(ratios=ratios, at=at)


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
    """Where the ratio of each block last rises through 1; empty unless all blocks have that."""
    blocks = sorted({block for of in logs.values() for block in of})
    places = []
    for block in blocks:
        series = [(level, of[block]) for level, of in sorted(logs.items()) if block in of]
        rises = [
            (low, before, high, after)
            for (low, before), (high, after) in pairwise(series)
            if before <= 0 < after
        ]
        if not rises or series[-1][1] <= 0:  # it does not end above 1
            return []
        low, before, high, after = rises[-1]
        share = -before / (after - before)
        places.append(math.exp(math.log(low) + share * math.log(high / low)))
    return places
