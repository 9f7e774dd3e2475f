"""The ratio of two tools from runs in pairs."""

import math
from dataclasses import dataclass

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

    def is_above(self, bound: float) -> bool | None:
        """Whether all of the interval lies above, or below; None where it cannot be told."""
        if self.low < bound <= self.high:
            return None
        return self.low >= bound


def ratio_of_pairs(ours: list[float], theirs: list[float]) -> Ratio:
    """Geometric mean of ours/theirs; Student's t on the log ratios, one for each pair.

    Of a single pair nothing is known but its ratio.
    """
    logs = np.log(np.array(ours) / np.array(theirs))
    mean = float(logs.mean())
    if len(logs) == 1:
        return Ratio(math.exp(mean), 0.0, math.inf)
    error = float(logs.std(ddof=1) / math.sqrt(len(logs)))
    margin = float(stats.t.ppf(0.975, len(logs) - 1)) * error
    return Ratio(math.exp(mean), math.exp(mean - margin), math.exp(mean + margin))
