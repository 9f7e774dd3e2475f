"""A number with its 95 % interval, as laws fitted to runs give it."""

import numpy as np
from msgspec import Struct

from dbdyno.analysis.estimate import Series

_TAIL = 0.025


class IntervalEstimate(Struct, frozen=True):
    """``low`` and ``high`` are None where too little was measured to know them."""

    value: float
    low: float | None
    high: float | None


def percentile_interval(value: float, drawn: Series) -> IntervalEstimate:
    """The interval that holds the middle 95 % of what was drawn.

    Its ends are draws themselves: between a number and infinity there is nothing to take.
    """
    low, high = np.quantile(drawn, [_TAIL, 1 - _TAIL], method="nearest")
    return IntervalEstimate(value, float(low), float(high))
