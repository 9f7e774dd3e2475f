"""What a heat map shows: plain data, nothing drawn yet."""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


class Grid(Struct, frozen=True):
    """Shares of each interval's transactions: rows are buckets upwards, columns are times."""

    shares: NDArray[np.float64]
    ends_ms: NDArray[np.float64]
    """Lower bound of each row, and finally the upper bound of the topmost."""
    of_all: NDArray[np.float64]
    """Each row's share of all transactions: intervals with more transactions weigh more."""
    longest_ms: float
    """The longest response time, which is somewhere within the topmost row."""
    begin_s: float
    end_s: float
    run_s: tuple[float, float]
    """Where the axis of the charts over time begins and ends: with warm-up and drain."""
    has_events: bool

    @property
    def low_ms(self) -> float:
        """Lower end of the axis, which is logarithmic and so has no zero."""
        return max(float(self.ends_ms[0]), 1e-6)

    @property
    def high_ms(self) -> float:
        """Upper end of the axis."""
        return float(self.ends_ms[-1])

    def densities(self, rows: int) -> NDArray[np.float64]:
        """The shares per unit of logarithmic height, on so many rows from the top."""
        heights = np.diff(np.log(np.maximum(self.ends_ms, 1e-6)))
        by_height = self.shares / np.maximum(heights, 1e-9)[:, None]
        lines = np.geomspace(self.high_ms, self.low_ms, rows)
        places = np.searchsorted(self.ends_ms, lines, side="right") - 1
        found: NDArray[np.float64] = by_height[np.clip(places, 0, len(by_height) - 1)]
        return found
