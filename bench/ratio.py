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


def ratio_of_pairs(own: list[float], peers: list[float]) -> Ratio:
    """Geometric mean of own/peers; Student's t on the log ratios, one for each pair.

    A single pair gives a ratio without an interval.
    """
    logs = np.log(np.array(own) / np.array(peers))
    mean = float(logs.mean())
    if len(logs) == 1:
        return Ratio(math.exp(mean), 0.0, math.inf)
    error = float(logs.std(ddof=1) / math.sqrt(len(logs)))
    margin = float(stats.t.ppf(0.975, len(logs) - 1)) * error
    return Ratio(math.exp(mean), math.exp(mean - margin), math.exp(mean + margin))


def ratio_of_sums(own: Sequence[int], peers: Sequence[int]) -> Ratio:
    """The ratio of the sums, with an error from the variance between pairs.

    A pair with a count of 0 is information too, but has no logarithm.
    """
    own_counts, peer_counts = np.array(own), np.array(peers)
    value = own_counts.sum() / peer_counts.sum()
    apart = (own_counts - value * peer_counts) / peer_counts.mean()
    margin = stats.t.ppf(0.975, len(apart) - 1) * apart.std(ddof=1) / math.sqrt(len(apart))
    return Ratio(float(value), float(value - margin), float(value + margin))
