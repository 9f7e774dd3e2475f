"""Maintenance of a table and its time: how it grows with the rows, and when it takes too long.

The time is a power of the rows if at two sizes it was long enough to be that of the rows and not of
setup. Otherwise it is assumed to be proportional to them from the largest table on, which is a
conservative assumption, since setup is included.
"""

import math
from functools import cached_property
from itertools import pairwise

from dbdyno.analysis.growth.volume import VolumeCurve, volume_curve
from dbdyno.analysis.statistics.estimate import IntervalEstimate, Ratio
from dbdyno.answers.table_size import Measured, means_by_rows

TOOK_MIN_S = 0.1
GROWS_MIN = 0.8
"""Maintenance visits each row: a time that grows much more slowly is mostly setup."""
STEP_GROWS_MIN = 0.5
"""The same between two sizes, where noise has more influence."""
DECADES_MAX = 2.0
"""Extrapolation over so many decades at most is advice; beyond that it is a guess."""

WIDTH_DECADES_MAX = 2.0
"""An interval of more decades bounds nothing that one would decide by."""


class Maintenance:
    """One kind of maintenance, and the longest acceptable time for it."""

    def __init__(self, name: str, measured: Measured, wait_s: float) -> None:
        self.name = name
        self.measured = measured
        self.wait_s = wait_s

    @cached_property
    def means(self) -> dict[float, Ratio]:
        """Seconds at each size, the fewest rows first."""
        return means_by_rows(self.measured)

    @cached_property
    def curve(self) -> VolumeCurve | None:
        """How the time grows; None if the tables were too small to show it."""
        long = [
            (rows, took_s) for rows, took_s in self.measured if self.means[rows].value >= TOOK_MIN_S
        ]
        found = volume_curve(long) if long and self._grows_at_each_step() else None
        return found if found and found.exponent.value >= GROWS_MIN else None

    def _grows_at_each_step(self) -> bool:
        """Whether the time grew by more than setup would at each step between long enough sizes."""
        long = [(rows, mean.value) for rows, mean in self.means.items() if mean.value >= TOOK_MIN_S]
        return all(
            math.log(took_s / before_s) >= STEP_GROWS_MIN * math.log(rows / fewer)
            for (fewer, before_s), (rows, took_s) in pairwise(long)
        )

    @cached_property
    def rows(self) -> IntervalEstimate | None:
        """Rows at which the time reaches the limit; None if no size does.

        The limit may be reached with fewer rows if it :attr:`is_passed` already.
        """
        if self.curve is not None:
            return self.curve.rows_at(self.wait_s)
        long = {rows: mean for rows, mean in self.means.items() if mean.value >= self.wait_s}
        if long:
            rows, mean = min(long.items())
            is_sure = mean.low is not None and mean.low >= self.wait_s
            return IntervalEstimate(rows, None, rows if is_sure else None)
        largest, mean = max(self.means.items())
        return IntervalEstimate(largest * self.wait_s / mean.value, None, None)

    @property
    def is_passed(self) -> bool:
        """Whether the limit is already reached at the fewest rows that can be judged."""
        fewest = self.curve.rows_min if self.curve else max(self.means)
        return self.rows is not None and self.rows.value <= fewest

    @property
    def is_decided(self) -> bool:
        """Whether the answer has an interval that bounds it, and lies near what was measured."""
        rows = self.rows
        if rows is None or rows.high is None:
            return False
        if self.is_passed:
            return rows.high <= rows.value
        if rows.low is None or math.log10(rows.high / rows.low) > WIDTH_DECADES_MAX:
            return False
        return math.log10(rows.value / max(self.means)) <= DECADES_MAX

    @property
    def doubt(self) -> str:
        """The doubts about the answer."""
        if self.rows is None:
            return ""
        if self.curve is not None:
            doubts = [self.curve.doubt_at(self.rows.value), *self.curve.doubts]
            return "; ".join(filter(None, doubts))
        if self.is_passed:
            return "its growth with the rows is not known, so it may take as long with fewer rows"
        decades = math.log10(self.rows.value / max(self.means))
        return (
            "assumed to grow in proportion to the rows, because no two sizes took long enough to "
            f"show its growth; {decades:.1f} decades of rows beyond what was measured"
        )
