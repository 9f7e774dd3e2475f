"""Throughput dips that coincide with checkpoints: how deep, and for how long.

A dip is one that ``curve_events`` finds: throughput below its level by more than the noise makes
plausible. It belongs to the checkpoint during which it began. Checkpoints without a dip are listed
too: they cost nothing that exceeds the noise. Dips without a checkpoint are not reported here.
"""

from msgspec import Struct

from dbdyno.analysis.events.checkpoint_events import UNFINISHED, checkpoints
from dbdyno.analysis.events.curve_events import Curve, curve
from dbdyno.analysis.events.run_event import RunEvent, end_of_run_s
from dbdyno.analysis.series.timeline import timeline
from dbdyno.analysis.statistics.spans import Span, true_spans
from dbdyno.model.run import Run


class CheckpointDip(Struct, frozen=True, kw_only=True):
    """A checkpoint that began in the measured part, and its dip.

    ``depth`` is the share of the level that was missing during the dip, ``deepest`` that of its
    worst interval; both are 0 without a dip. ``is_whole`` is true if the checkpoint also ended in
    the run.
    """

    begin_s: float
    end_s: float
    is_whole: bool
    depth: float = 0.0
    deepest: float = 0.0
    length_s: float = 0.0


def checkpoint_dips(run: Run) -> list[CheckpointDip]:
    """In order of time; without dips if the run has too few intervals to determine a level."""
    over_time = timeline(run)
    end_s = end_of_run_s(over_time)
    begun = [event for event in checkpoints(run, end_s) if 0 <= event.begin_s < end_s]
    of = curve(over_time, run.plan)
    return [_with_dip(event, of, end_s) for event in begun]


def _with_dip(event: RunEvent, of: Curve | None, end_of_run_s: float) -> CheckpointDip:
    is_whole = event.label != UNFINISHED and event.end_s <= end_of_run_s
    found = _low_stretch(event, of) if of else None
    if of is None or found is None:
        return CheckpointDip(begin_s=event.begin_s, end_s=event.end_s, is_whole=is_whole)
    inside = slice(*found)
    missing = 1 - of.tps[inside] / of.level[inside]
    return CheckpointDip(
        begin_s=event.begin_s,
        end_s=event.end_s,
        is_whole=is_whole,
        depth=float(missing.mean()),
        deepest=float(missing.max()),
        length_s=float(of.end_s[inside][-1] - of.begin_s[inside][0]),
    )


def _low_stretch(event: RunEvent, of: Curve) -> Span | None:
    """First dip that began during the checkpoint, or in the interval in which it began."""
    for begin, end in true_spans(of.is_low | of.is_stalled):
        if of.end_s[begin] > event.begin_s and of.begin_s[begin] <= event.end_s:
            return begin, end
    return None
