"""What happened in the run besides the load: each event with begin, end and depth.

From the server's log if it was read, else from its counters, else from the throughput curve alone
(dips and stalls). What an event cost is computed in ``losses``.
"""

import msgspec
import numpy as np

from dbdyno.analysis.events.checkpoint_events import checkpoints
from dbdyno.analysis.events.curve_events import Curve, curve, curve_events
from dbdyno.analysis.events.run_event import EventKind, RunEvent, end_of_run_s
from dbdyno.analysis.events.server_events import autovacuums, deadlocks, outages, wal_switches
from dbdyno.analysis.series.timeline import timeline
from dbdyno.analysis.statistics.estimate import median
from dbdyno.model.run import Run, once

__all__ = ["EventKind", "RunEvent", "events"]

_NEIGHBOURS_MIN_S, _NEIGHBOURS_MAX_S = 5.0, 60.0
_NEIGHBOURS_MIN = 3
_LOSS_MAX = 2
"""An event stops the load for as long as it lasts at most; twice that allows for recovery."""


@once
def events(run: Run) -> list[RunEvent]:
    """All events, in order of time."""
    over_time = timeline(run)
    end_s = end_of_run_s(over_time)
    of = curve(over_time, run.plan)
    found = [
        *checkpoints(run, end_s),
        *autovacuums(run),
        *wal_switches(run),
        *deadlocks(run),
        *outages(run, end_s),
        *(curve_events(of) if of else ()),
    ]
    if of:
        found = [_with_depth(event, of) for event in found]
    return sorted(found, key=lambda event: (event.begin_s, event.end_s))


def _with_depth(event: RunEvent, of: Curve) -> RunEvent:
    """1 − mean during the event / median of the neighbours, as long on both sides as it was.

    None without neighbours, as for an event that fills the run or its stage, and if the load was
    changed in that time. None also for a loss that the event is too short for, above all one
    without a length: its interval was low by coincidence, or because of what came after it.
    """
    if event.depth is not None or event.end_s <= event.begin_s:
        return event
    inside = (of.begin_s < event.end_s) & (of.end_s > event.begin_s)
    reach_s = min(max(event.end_s - event.begin_s, _NEIGHBOURS_MIN_S), _NEIGHBOURS_MAX_S)
    near = (of.end_s > event.begin_s - reach_s) & (of.begin_s < event.end_s + reach_s) & ~inside
    stages = np.unique(of.stage[inside])
    near &= np.isin(of.stage, stages)
    usual = median(of.tps[near]) if near.sum() >= _NEIGHBOURS_MIN else 0.0
    if not usual or len(stages) != 1:
        return event
    depth = 1 - float(of.tps[inside].mean()) / usual
    inside_s = float((of.end_s - of.begin_s)[inside].sum())
    if depth * inside_s > _LOSS_MAX * (event.end_s - event.begin_s):
        return event
    return msgspec.structs.replace(event, depth=depth)
