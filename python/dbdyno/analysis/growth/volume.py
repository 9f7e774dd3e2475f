"""How a number grows with the rows of a table: y = a · rows^d, a line on logarithms.

Suitable for throughput (which falls by a constant factor per decade of rows) and for times that are
extrapolated (an index build, a vacuum). A line through few sizes always looks straight: the doubts
say so, and how far an answer lies from what was measured.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from dbdyno.analysis.statistics.estimate import IntervalEstimate, Series
from dbdyno.analysis.statistics.probability import student_p, student_quantile

SIZES_FEW = 4
ROWS_MAX = 1e15
_DECADES_BEYOND_MAX = 1.0


class VolumeCurve(Struct, frozen=True, kw_only=True):
    """The line log₁₀ y = level + exponent · (log₁₀ rows − centre), by least squares.

    Intervals are Student's (Draper and Smith, *Applied Regression Analysis*, 1998, §1.4); there are
    none with only as many measurements as the line has unknowns.
    """

    level: float
    exponent: IntervalEstimate
    centre: float
    noise: float | None
    """Standard deviation of log₁₀ around the line."""
    spread: float
    """Sum of the squared distances of log₁₀ rows from the centre."""
    measurements: int
    rows_min: float
    rows_max: float
    doubts: tuple[str, ...]

    def mean_at(self, rows: float) -> IntervalEstimate:
        """The expected value at this many rows, with the confidence interval of the line."""
        return self._ranged(rows, 0.0)

    def predicted_at(self, rows: float) -> IntervalEstimate:
        """The value of a single new measurement, with its prediction interval."""
        return self._ranged(rows, 1.0)

    def doubt_at(self, rows: float) -> str:
        """Doubt about an answer that is extrapolated this far."""
        beyond = max(math.log10(rows / self.rows_max), math.log10(self.rows_min / rows))
        if beyond <= _DECADES_BEYOND_MAX:
            return ""
        return f"extrapolated by {beyond:.1f} decades of rows beyond what was measured"

    def rows_at(self, limit: float) -> IntervalEstimate | None:
        """Rows at which the next measurement reaches a limit.

        Where the line and both edges of its prediction interval cross it; an edge that does not do
        so below 10¹⁵ rows is None. None if the line itself does not. If the limit is already passed
        at the fewest rows measured, the value is that number, an upper bound, and there is no low
        end.
        """
        value = self._crossing(limit, 0)
        if value is None or self.noise is None:
            return None if value is None else IntervalEstimate(value, None, None)
        first = 1 if self.exponent.value > 0 else -1
        low, high = (self._crossing(limit, edge) for edge in (first, -first))
        return IntervalEstimate(value, None if low == self.rows_min else low, high)

    def _ranged(self, rows: float, own: float) -> IntervalEstimate:
        """``own`` is the share of a single measurement's variance that is added."""
        distance = math.log10(rows) - self.centre
        value = self.level + self.exponent.value * distance
        if self.noise is None:
            return IntervalEstimate(10**value, None, None)
        share = own + 1 / self.measurements + distance**2 / self.spread
        half = student_quantile(self.measurements - 2) * self.noise * math.sqrt(share)
        return IntervalEstimate(10**value, 10 ** (value - half), 10 ** (value + half))

    def _crossing(self, limit: float, edge: int) -> float | None:
        """Rows at which an edge of the prediction (0: the line) reaches the limit, by bisection."""
        near, far = math.log10(self.rows_min), math.log10(ROWS_MAX)
        is_above = self._edge(near, edge) > limit
        if is_above == (self.exponent.value > 0):
            return self.rows_min
        if (self._edge(far, edge) > limit) == is_above:
            return None
        while far - near > 1e-6:
            middle = (near + far) / 2
            near, far = (
                (middle, far) if (self._edge(middle, edge) > limit) == is_above else (near, middle)
            )
        return 10**near

    def _edge(self, log_rows: float, edge: int) -> float:
        predicted = self.predicted_at(10**log_rows)
        bound = (predicted.low, predicted.value, predicted.high)[edge + 1]
        assert bound is not None  # edges are requested only if there is noise
        return bound


def volume_curve(measured: Sequence[tuple[float, float]]) -> VolumeCurve | None:
    """Fit (rows, value) of each measurement; None with fewer than two sizes."""
    rows, values = (np.array(column, dtype=np.float64) for column in zip(*measured, strict=True))
    if len(np.unique(rows)) < 2:
        return None
    at, logarithms = np.log10(rows), np.log10(values)
    centre, level = float(at.mean()), float(logarithms.mean())
    spread = float(((at - centre) ** 2).sum())
    exponent = float((at - centre) @ logarithms) / spread
    rest = logarithms - level - exponent * (at - centre)
    freedom = len(rows) - 2
    noise = math.sqrt(float(rest @ rest) / freedom) if freedom else None
    return VolumeCurve(
        level=level,
        exponent=_exponent(exponent, noise, spread, freedom),
        centre=centre,
        noise=noise,
        spread=spread,
        measurements=len(rows),
        rows_min=float(rows.min()),
        rows_max=float(rows.max()),
        doubts=tuple(_doubts(rows)),
    )


class PerDecade(Struct, frozen=True):
    """The factor by which ten times the rows change a number.

    ``p`` is that of no change; None with only as many measurements as there are unknowns.
    """

    factor: IntervalEstimate
    p: float | None


def per_decade(measured: Sequence[tuple[int, float, float]]) -> PerDecade | None:
    """The effect of ten times the rows, from (block, rows, value) of each measurement.

    Every block has a level of its own, so that drift of the host from block to block is not taken
    for noise (randomised complete blocks; Montgomery, *Design and Analysis of Experiments*, §4.1).
    None if no block has two sizes.
    """
    block, rows, values = (np.array(column) for column in zip(*measured, strict=True))
    at, logarithms = (_within(block, np.log10(column)) for column in (rows, values))
    spread = float(at @ at)
    if not spread:
        return None
    exponent = float(at @ logarithms) / spread
    rest = logarithms - exponent * at
    freedom = len(rows) - len(np.unique(block)) - 1
    noise = math.sqrt(float(rest @ rest) / freedom) if freedom else None
    found = _exponent(exponent, noise, spread, freedom)
    p = student_p(exponent * math.sqrt(spread) / noise, freedom) if noise else None
    factor = IntervalEstimate(10**found.value, _power(found.low), _power(found.high))
    return PerDecade(factor, p)


def _within(block: Series, values: Series) -> Series:
    """Differences from the mean of the block."""
    _, place, count = np.unique(block, return_inverse=True, return_counts=True)
    differences: Series = values - (np.bincount(place, values) / count)[place]
    return differences


def _exponent(value: float, noise: float | None, spread: float, freedom: int) -> IntervalEstimate:
    if noise is None:
        return IntervalEstimate(value, None, None)
    half = student_quantile(freedom) * noise / math.sqrt(spread)
    return IntervalEstimate(value, value - half, value + half)


def _power(exponent: float | None) -> float | None:
    return None if exponent is None else 10**exponent


def _doubts(rows: np.ndarray) -> Iterator[str]:
    sizes = len(np.unique(rows))
    if sizes < SIZES_FEW:
        yield f"{sizes} sizes: whether the line bends between or beyond them cannot be seen"
    if sizes == len(rows):
        yield "each size was measured once, so noise cannot be told from a bend"
