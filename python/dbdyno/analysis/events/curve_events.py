"""Stalls, dips and changes of level that are visible in the throughput curve itself.

This module does not explain them. A stall means that next to nothing completed; a dip that
throughput fell below its level by more than the noise makes plausible, and came back; a change of
level that it did not come back. Each stage of a load has its own levels and noise: a change of
throughput where the load changes is not an event. Events shorter than an interval are not seen.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbdyno.analysis.events.run_event import EventKind, RunEvent
from dbdyno.analysis.series.planned_load import stage_at
from dbdyno.analysis.series.timeline import Timeline
from dbdyno.analysis.statistics.change_points import change_points
from dbdyno.analysis.statistics.estimate import Series, median
from dbdyno.analysis.statistics.spans import Mask, true_spans
from dbdyno.model.plan import Plan
from dbdyno.model.tables import Column

STALLED_SHARE = 0.05
DIP_MIN = 0.1
CHANGE_MIN = 0.05
LEVEL_MIN_S = 10.0
INTERVALS_MIN = 10
# In steady noise one interval in 30 000 is so far below its level.
_BELOW = 4.0
# How far a dip that was found extends on both sides.
_STILL_BELOW = 2.0
_MAD_TO_DEVIATION = 1.4826


class Curve(Struct, frozen=True):
    """The measured intervals, and the stage and the level that each belongs to."""

    begin_s: Series
    end_s: Series
    tps: Series
    stage: Column
    is_stalled: Mask
    level: Series
    deviation: Series
    """Typical distance of an interval from its level: robust, so that dips do not count."""

    @property
    def is_low(self) -> Mask:
        """Intervals far below their level, and neighbours that are still below it."""
        distance = self.level - self.tps
        far = (distance > _BELOW * self.deviation) & (distance > DIP_MIN * self.level)
        found = np.zeros(len(far), dtype=bool)
        for begin, end in true_spans(distance > _STILL_BELOW * self.deviation):
            found[begin:end] = far[begin:end].any()
        return found


def curve(timeline: Timeline, plan: Plan) -> Curve | None:
    """None if there are too few intervals to determine a level."""
    whole = timeline.whole_intervals()
    measured = whole.phase == "measure"
    tps, seconds = whole.tps[measured], whole.seconds[measured]
    if len(tps) < INTERVALS_MIN or not tps.any():
        return None
    begin_s = whole.time_s[measured]
    stage = stage_at(plan, begin_s + seconds / 2)
    parts = [_of_stage(tps[stage == one], seconds[stage == one]) for one in np.unique(stage)]
    is_stalled, level, deviation = map(np.concatenate, zip(*parts, strict=True))
    return Curve(begin_s, begin_s + seconds, tps, stage, is_stalled, level, deviation)


def curve_events(of: Curve) -> list[RunEvent]:
    """In no order; a dip that contains a stall is not reported beside it.

    Standstills count if too many are missing to be chance: counts of n usually vary by √n.
    """
    usual = np.cumsum(of.level * (of.end_s - of.begin_s))
    stalls = [
        _event("stall", of, begin, end)
        for begin, end in true_spans(of.is_stalled)
        if usual[end - 1] - (usual[begin - 1] if begin else 0.0) >= _BELOW**2
    ]
    dips = [
        _event("dip", of, begin, end)
        for begin, end in true_spans(of.is_low)
        if not of.is_stalled[begin:end].any()
    ]
    return [*stalls, *dips, *_changes(of)]


def _event(kind: EventKind, of: Curve, begin: int, end: int) -> RunEvent:
    begin_s, end_s = float(of.begin_s[begin]), float(of.end_s[end - 1])
    return RunEvent(kind=kind, label=kind, begin_s=begin_s, end_s=end_s)


def _of_stage(tps: Series, seconds: Series) -> tuple[Mask, Series, Series]:
    """Stalled intervals, levels and deviations; no stalls if nothing completed in the stage."""
    moving = tps[tps > 0]
    is_stalled = tps < STALLED_SHARE * (median(moving) if len(moving) else 0.0)
    level = _levels(tps, seconds, is_stalled)
    # A count of n has at least the standard deviation √n, even if the observed deviation is 0.
    counted = np.sqrt(median(level) / median(seconds))
    spread = median(np.abs(tps - level)[~is_stalled]) * _MAD_TO_DEVIATION
    return is_stalled, level, np.full(len(tps), max(spread, float(counted)))


def _levels(tps: Series, seconds: Series, is_stalled: Mask) -> Series:
    """The median of each stretch between changes that last 10 s and a tenth of the run.

    A standstill is not a level, however long.
    """
    shortest = max(LEVEL_MIN_S / median(seconds), len(tps) / 10)
    moving = tps[~is_stalled]
    bounds = [0, *change_points(moving, int(np.ceil(shortest))), len(moving)]
    medians = [median(moving[begin:end]) for begin, end in pairwise(bounds)]
    place = np.maximum(np.cumsum(~is_stalled) - 1, 0)
    level: Series = np.repeat(medians, np.diff(bounds))[place]
    return level


def _changes(of: Curve) -> Iterator[RunEvent]:
    """From where throughput left a level to the end of the next level, or of the stage."""
    is_planned = np.diff(of.stage) != 0
    places = np.flatnonzero(is_planned | (np.diff(of.level) != 0)) + 1
    for place, after in pairwise([*places.tolist(), len(of.level)]):
        before_tps, after_tps = float(of.level[place - 1]), float(of.level[place])
        change = after_tps / before_tps - 1 if before_tps else np.inf
        if abs(change) >= CHANGE_MIN and not is_planned[place - 1]:
            yield replace(
                _event("level", of, place, after),
                label="rise" if change > 0 else "fall",
                depth=-change,
                values={"before_tps": before_tps, "after_tps": after_tps},
            )
