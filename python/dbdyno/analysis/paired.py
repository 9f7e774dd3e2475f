"""What a change brings, from runs with and without it that were measured in pairs.

The runs of a pair follow each other, so that what drifts on the machine falls on both. The
unit is the pair: how the seconds of a run differ says nothing of how runs do.
"""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from dbdyno.analysis.estimate import student_quantile


class Ratio(Struct, frozen=True):
    """By which factor a number changed, with its 95 % interval; None for a single pair."""

    value: float
    low: float | None
    high: float | None

    @property
    def is_told_apart(self) -> bool:
        """Whether the interval leaves out no change at all."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high


def paired_ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """The ratio of the second to the first of each pair, on average.

    The mean of the logarithms of the ratios, ± t(0.975, n − 1)·s/√n, taken back: ratios
    multiply, so twice as fast and half as fast must be equally far from no change.
    """
    logarithms = np.log([after / before for before, after in pairs])
    mean = float(logarithms.mean())
    if len(pairs) < 2:
        return Ratio(math.exp(mean), None, None)
    error = float(logarithms.std(ddof=1)) / math.sqrt(len(pairs))
    half = student_quantile(len(pairs) - 1) * error
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))
