"""A number with its 95 % interval, as fitted laws give it."""

import numpy as np
from msgspec import Struct

from dbdyno.analysis.estimate import Series

_TAIL = 0.025


class IntervalEstimate(Struct, frozen=True):
    """``low`` and ``high`` are None if too little was measured to know them."""

    value: float
    low: float | None
    high: float | None


def percentile_interval(value: float, drawn: Series) -> IntervalEstimate:
    """The interval that contains the middle 95 % of the draws.

    Its ends are draws themselves: values cannot be interpolated between a number and infinity.
    """
    low, high = np.quantile(drawn, [_TAIL, 1 - _TAIL], method="nearest")
    return IntervalEstimate(value, float(low), float(high))
