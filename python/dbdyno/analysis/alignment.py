"""Brings what telemetry counted onto the engine's intervals, so that both can be compared.

Telemetry and engine do not read at the same instants. A counter's growth is taken as even
within a reading, which moves a little of it into a neighbouring interval and loses nothing.
The last reading under load comes a little before the end: what an interval lacks of being
covered is taken as the rest of it, up to a tenth.
"""

import numpy as np
from msgspec import Struct

from dbdyno.analysis.estimate import Series
from dbdyno.analysis.readings import Growth
from dbdyno.analysis.timeline import are_whole
from dbdyno.model.recording import Column, Recording

_COVERED = 0.9


class Intervals(Struct, frozen=True):
    """Measured intervals, without one that was cut short: where they are and what ended in them."""

    place: Column
    """Which rows of the table ``intervals`` they are."""
    begin_s: Series
    end_s: Series
    committed: Series


def measured_intervals(recording: Recording) -> Intervals:
    """All of the measured part."""
    table = recording.tables["intervals"]
    seconds = table["seconds"]
    place = np.flatnonzero((table["phase"] == "measure") & are_whole(seconds))
    begin_s = table["time_s"][place]
    committed = table["completed_ok"][place].astype(float)
    return Intervals(place, begin_s, begin_s + seconds[place], committed)


def over_intervals(growth: Growth, intervals: Intervals) -> Series:
    """How much the counter grew in each interval; NaN where the readings do not cover it.

    A reading after the last interval's end is left out: the sessions are gone by then, and
    counters that are published late have caught up, as no reading before has.
    """
    under_load = growth.time_s <= intervals.end_s.max(initial=0.0)
    kept = Growth(growth.time_s[under_load], growth.seconds[under_load], growth.delta[under_load])
    return _over(kept, intervals.begin_s, intervals.end_s)


def as_if_read(series: Series, intervals: Intervals, readings: Growth) -> Series:
    """A series of the engine's, blurred as a counter is that was read at these instants.

    A regression of the counter on the blurred series is not biased, one on the sharp series
    is: what the readings cannot tell apart, the causes must not tell apart either.
    """
    sharp = Growth(intervals.end_s, intervals.end_s - intervals.begin_s, series)
    seen = _over(sharp, readings.time_s - readings.seconds, readings.time_s)
    known = ~np.isnan(seen)
    return over_intervals(
        Growth(readings.time_s[known], readings.seconds[known], seen[known]), intervals
    )


def _over(growth: Growth, begin_s: Series, end_s: Series) -> Series:
    knots = np.maximum.accumulate(_interleaved(growth.time_s - growth.seconds, growth.time_s))
    amount = _between(begin_s, end_s, knots, growth.delta)
    covered = _between(begin_s, end_s, knots, growth.seconds) / (end_s - begin_s)
    return amount / np.where(covered >= _COVERED, np.minimum(covered, 1.0), np.nan)


def _between(begin_s: Series, end_s: Series, knots: Series, amounts: Series) -> Series:
    """What of the amounts, each of which came between two knots, came from begin to end."""
    if not len(amounts):
        return np.zeros(len(begin_s))
    reached = np.cumsum(amounts)
    curve = _interleaved(reached - amounts, reached)
    at_end: Series = np.interp(end_s, knots, curve)
    return at_end - np.interp(begin_s, knots, curve)


def _interleaved(first: Series, second: Series) -> Series:
    return np.stack([first, second], axis=1).ravel()
