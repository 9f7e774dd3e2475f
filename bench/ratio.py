"""The ratio of two tools from runs in pairs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Ratio:
    """A geometric mean of ratios with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """As it is printed."""
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"

    def times(self, factor: float) -> Self:
        """Multiplied by a known factor."""
        return replace(
            self, value=self.value * factor, low=self.low * factor, high=self.high * factor
        )

    def is_at_least(self, bound: float) -> bool | None:
        """Whether the whole interval is above the bound; None if the bound lies inside it."""
        if self.low < bound <= self.high:
            return None
        return self.low >= bound


def ratio_of_pairs(ours: list[float], theirs: list[float]) -> Ratio:
    """Geometric mean of ours/theirs; Student's t on the log ratios, one for each pair.

    A single pair gives a ratio without an interval.
    """
    logs = np.log(np.array(ours) / np.array(theirs))
    mean = float(logs.mean())
    if len(logs) == 1:
        return Ratio(math.exp(mean), 0.0, math.inf)
    error = float(logs.std(ddof=1) / math.sqrt(len(logs)))
    margin = float(stats.t.ppf(0.975, len(logs) - 1)) * error
    return Ratio(math.exp(mean), math.exp(mean - margin), math.exp(mean + margin))


def ratio_of_sums(ours: Sequence[int], theirs: Sequence[int]) -> Ratio:
    """The sum of ours over the sum of theirs, with an error from the variance between pairs.

    A pair with a count of 0 is information too, but has no logarithm.
    """
    of_ours, of_theirs = np.array(ours), np.array(theirs)
    value = of_ours.sum() / of_theirs.sum()
    apart = (of_ours - value * of_theirs) / of_theirs.mean()
    margin = stats.t.ppf(0.975, len(apart) - 1) * apart.std(ddof=1) / math.sqrt(len(apart))
    return Ratio(float(value), float(value - margin), float(value + margin))
