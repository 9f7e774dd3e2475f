"""Maps telemetry counters onto the engine's measurement intervals, so that both can be compared.

Telemetry and engine do not read at the same instants. A counter is taken to grow evenly between two
readings, which moves a little of its growth into a neighbouring interval and loses nothing. The
last reading under load comes a little before the end: if up to a tenth of an interval is not
covered by readings, the covered part is scaled up to the whole interval.

A load without a warm-up is an interval, too, whose readings have neither of these faults: it lies
between one that came before its first transaction and one after its sessions had ended.
"""

import numpy as np
from msgspec import Struct

from dbdyno.analysis.series.readings import Growth
from dbdyno.analysis.series.timeline import are_whole
from dbdyno.analysis.statistics.estimate import Series
from dbdyno.model.run import Run
from dbdyno.model.tables import Column

_COVERED = 0.9


_ROUNDING_S = 1e-6
"""Times of readings are sums of floating-point numbers."""


class Intervals(Struct, frozen=True):
    """The measured intervals, without any that was cut short; or one: the whole load."""

    place: Column
    """Their row numbers in the table ``intervals``."""
    begin_s: Series
    end_s: Series
    committed: Series
    """Transactions that were committed in them."""
    is_load: bool = False
    """Whether they are one, from the first transaction to the end of the last, in several rows."""

    def of(self, column: Column) -> Column:
        """Return a column of the table ``intervals`` over these."""
        rows = column[self.place].astype(float)
        return rows.sum(keepdims=True) if self.is_load else rows


def measured_intervals(run: Run) -> Intervals:
    """Return all whole intervals of the measured part."""
    table = run.intervals
    seconds = table.seconds
    place = np.flatnonzero((table.phase == "measure") & are_whole(seconds))
    begin_s = table.time_s[place]
    committed = table.completed_committed[place].astype(float)
    return Intervals(place, begin_s, begin_s + seconds[place], committed)


def whole_load(run: Run) -> Intervals | None:
    """Return the load and its drain as one interval; None if a warm-up came first."""
    table = run.intervals
    if not len(table.phase) or (table.phase == "warmup").any():
        return None
    begin_s, end_s = table.time_s, table.time_s + table.seconds
    committed = np.array([table.completed_committed.sum()], dtype=float)
    place = np.arange(len(begin_s))
    return Intervals(
        place, begin_s.min(keepdims=True), end_s.max(keepdims=True), committed, is_load=True
    )


def over_intervals(growth: Growth, intervals: Intervals) -> Series:
    """Growth of the counter in each interval; NaN where the readings do not cover it.

    Readings after the end of the last interval are ignored: the sessions are gone by then, and
    counters that are published late have caught up, unlike in any earlier reading. The whole load
    ends with these: its growth is that between the first reading and the last one.
    """
    if intervals.is_load:
        return np.array([_over_load(growth, intervals.begin_s[0], intervals.end_s[0])])
    under_load = growth.time_s <= intervals.end_s.max(initial=0.0)
    kept = Growth(growth.time_s[under_load], growth.seconds[under_load], growth.delta[under_load])
    return over(kept, intervals.begin_s, intervals.end_s)


def _over_load(growth: Growth, begin_s: float, end_s: float) -> float:
    """Sum of the growth; NaN if it begins or ends under load, or if a part of it is not known."""
    if not len(growth.time_s):
        return np.nan
    begins_s = growth.time_s - growth.seconds
    is_covered = begins_s[0] <= begin_s + _ROUNDING_S and growth.time_s[-1] >= end_s - _ROUNDING_S
    gaps_s = begins_s[1:] - growth.time_s[:-1]
    return float(growth.delta.sum()) if is_covered and (gaps_s <= _ROUNDING_S).all() else np.nan


def as_if_read(series: Series, intervals: Intervals, readings: Growth) -> Series:
    """Blur a series of the engine like a counter that was read at the instants of ``readings``.

    A regression of the counter on the blurred series is unbiased, one on the sharp series is not:
    causes must not be resolved more finely in time than the readings.
    """
    sharp = Growth(intervals.end_s, intervals.end_s - intervals.begin_s, series)
    seen = over(sharp, readings.time_s - readings.seconds, readings.time_s)
    known = ~np.isnan(seen)
    return over_intervals(
        Growth(readings.time_s[known], readings.seconds[known], seen[known]), intervals
    )


def over(growth: Growth, begin_s: Series, end_s: Series, covered_min: float = _COVERED) -> Series:
    """Growth of the counter in each span of time; NaN where readings cover less of it than that."""
    knots = np.maximum.accumulate(_interleaved(growth.time_s - growth.seconds, growth.time_s))
    amount = _between(begin_s, end_s, knots, growth.delta)
    covered = _between(begin_s, end_s, knots, growth.seconds) / (end_s - begin_s)
    return amount / np.where(covered >= covered_min, np.minimum(covered, 1.0), np.nan)


def _between(begin_s: Series, end_s: Series, knots: Series, amounts: Series) -> Series:
    """Amount that accrued between begin and end; each amount accrued evenly between two knots."""
    if not len(amounts):
        return np.zeros(len(begin_s))
    reached = np.cumsum(amounts)
    curve = _interleaved(reached - amounts, reached)
    at_end: Series = np.interp(end_s, knots, curve)
    return at_end - np.interp(begin_s, knots, curve)


def _interleaved(first: Series, second: Series) -> Series:
    return np.stack([first, second], axis=1).ravel()
