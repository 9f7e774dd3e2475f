"""Maps values to positions in a drawing, and places the ticks of an axis."""

import math
from collections.abc import Callable, Sequence

from msgspec import Struct


class Scale(Struct, frozen=True):
    """Maps ``low``…``high`` to ``begin``…``end`` after ``transform``."""

    low: float
    high: float
    begin: float
    end: float
    transform: Callable[[float], float] = float

    def __call__(self, value: float) -> float:
        """The position of a value, clamped to the drawing."""
        low, high = self.transform(self.low), self.transform(self.high)
        share = (self.transform(min(max(value, self.low), self.high)) - low) / (high - low)
        return self.begin + share * (self.end - self.begin)


def log_scale(low: float, high: float, begin: float, end: float) -> Scale:
    """A logarithmic scale; a range without width is widened."""
    low = max(low, 1e-9)
    return Scale(low, max(high, low * 1.5), begin, end, math.log10)


def tail_scale(quantile_max: float, begin: float, end: float) -> Scale:
    """A scale of quantiles on which each further nine takes the same room."""
    return Scale(0.0, quantile_max, begin, end, lambda share: -math.log10(1 - share))


_TICKS_MIN, _TICKS_WANTED = 3, 5


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten; for wide ranges the powers alone.

    Where a narrow range has too few of these, equal round steps.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    powers = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    ticks = _between(powers, low, high)
    if len(ticks) >= _TICKS_MIN:
        return ticks
    step = _round_step((high - low) / _TICKS_WANTED)
    return _between([step * index for index in range(math.ceil(high / step) + 1)], low, high)


def _between(ticks: Sequence[float], low: float, high: float) -> list[float]:
    return [tick for tick in ticks if low <= tick * 1.0001 and tick <= high * 1.0001]


_TIME_STEPS_S = (60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)


def time_ticks(end_s: float, wanted: int) -> list[float]:
    """Steps from 0, of whole minutes and hours once they are long enough."""
    if end_s <= 120:
        return linear_ticks(end_s, wanted)
    step = next((step for step in _TIME_STEPS_S if end_s / step <= wanted), _TIME_STEPS_S[-1])
    return [float(time) for time in range(0, int(end_s) + 1, step)]


def linear_ticks(high: float, wanted: int = _TICKS_WANTED) -> list[float]:
    """Round steps from 0 up to ``high``."""
    if high <= 0:
        return [0.0]
    step = _round_step(high / wanted)
    return [step * index for index in range(int(high / step) + 1)]


def _round_step(rough: float) -> float:
    """1, 2 or 5 times a power of ten, not less than this."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
