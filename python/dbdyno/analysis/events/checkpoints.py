"""What each checkpoint of a run did to it: the WAL around it, and its dip in throughput.

The WAL is in bytes per transaction before and after, and in full-page images.

The first change of a page after the begin of a checkpoint writes the whole page to the WAL. The
expected number of such first changes follows from the rows changed and the pages they are on; if
the counted images agree with it, this is evidence that they explain the growth of the WAL.

A dip is one that ``curve_events`` finds: throughput below its level by more than the noise makes
plausible. It belongs to the checkpoint during which it began. Checkpoints without a dip are listed
too: they cost nothing that exceeds the noise. Dips without a checkpoint are not reported here.
"""

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbdyno.analysis.events.checkpoint_events import UNFINISHED, checkpoints
from dbdyno.analysis.events.curve_events import Curve, curve
from dbdyno.analysis.events.run_event import RunEvent, end_of_run_s
from dbdyno.analysis.events.wal import Wal, wal
from dbdyno.analysis.search.bounds import expected_distinct
from dbdyno.analysis.series.alignment import Intervals, measured_intervals
from dbdyno.analysis.series.readings import Span, total, was_read
from dbdyno.analysis.series.timeline import timeline
from dbdyno.analysis.statistics.estimate import Series
from dbdyno.analysis.statistics.spans import Mask, true_spans
from dbdyno.model.counters import PgUserTables, PgWal
from dbdyno.model.run import Run

# Long enough for a mean, short enough that images are still frequent after the begin.
_SIDE_S = 10.0


class CheckpointEffect(Struct, frozen=True, kw_only=True):
    """One checkpoint that began in the measured part; WAL figures are per transaction.

    ``before`` covers the intervals of the 10 s before it began, ``after`` those of the next 10 s,
    or up to the next checkpoint, including the interval in which it began: images start at once.
    ``images`` were counted from its begin to the begin of the next one, or to the end of the run,
    and ``first_changes`` is the number expected in that time; None if tables or counters were not
    read.
    """

    begin_s: float
    end_s: float
    bytes_before: float | None
    bytes_after: float | None
    images_before: float | None
    images_after: float | None
    images: float | None
    first_changes: float | None


def checkpoint_effects(run: Run) -> list[CheckpointEffect]:
    """Return the effects in order of time."""
    end_s = end_of_run_s(timeline(run))
    begins_s = [event.begin_s for event in checkpoints(run, end_s) if event.begin_s >= 0]
    intervals = measured_intervals(run)
    written = wal(run, intervals)
    bounds_s = [0.0, *begins_s, end_s]
    return [
        _effect(run, intervals, written, tuple(bounds_s[place : place + 3]))
        for place in range(len(begins_s))
    ]


def _effect(
    run: Run, intervals: Intervals, written: Wal, bounds_s: tuple[float, ...]
) -> CheckpointEffect:
    """The effect of the checkpoint at the second of the bounds; the others are its neighbours."""
    last_s, begin_s, next_s = bounds_s
    before_s = max(last_s, begin_s - _SIDE_S)
    before = (intervals.begin_s >= before_s) & (intervals.end_s <= begin_s)
    after = (intervals.end_s > begin_s) & (intervals.end_s <= min(next_s, begin_s + _SIDE_S))
    ended = intervals.committed
    return CheckpointEffect(
        begin_s=begin_s,
        end_s=next_s,
        bytes_before=_each(written.bytes, ended, before),
        bytes_after=_each(written.bytes, ended, after),
        images_before=_each(written.images, ended, before),
        images_after=_each(written.images, ended, after),
        images=total(run, PgWal.wal_fpi, span=Span(begin_s, next_s)),
        first_changes=_first_changes(run, Span(begin_s, next_s)),
    )


def _each(amount: Series, ended: Series, inside: Mask) -> float | None:
    """Per committed transaction; None if nothing was read or nothing completed."""
    known = inside & ~np.isnan(amount)
    transactions = float(ended[known].sum())
    return float(amount[known].sum()) / transactions if transactions else None


def _first_changes(run: Run, span: Span) -> float | None:
    """Pages changed for the first time in the span, if changes hit rows uniformly.

    u changes on P pages touch P·(1 − (1 − 1/P)^u) of them, that is (P/u)·(1 − (1 − 1/P)^u) per
    change. An update changes a page of its table and, unless it is HOT, one of each index.
    """
    facts = run.before or run.after
    if not facts or not was_read(run, PgUserTables.source):
        return None
    pages = 0.0
    for table in facts.tables:
        updated, hot = (
            total(run, counter, table.name, span) or 0.0
            for counter in (PgUserTables.n_tup_upd, PgUserTables.n_tup_hot_upd)
        )
        pages += expected_distinct(max(table.pages, 1), updated)
        for index in table.indexes:
            index_pages = max(index.bytes / run.database.page_bytes, 1)
            pages += expected_distinct(index_pages, updated - hot)
    return pages


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
    """The first dip that began during the checkpoint, or in the interval in which it began."""
    dip = CheckpointDip(
        begin_s=event.begin_s,
        end_s=event.end_s,
        is_whole=event.label != UNFINISHED and event.end_s <= end_of_run_s,
    )
    if of is None:
        return dip
    for begin, end in true_spans(of.is_low | of.is_stalled):
        if of.end_s[begin] > event.begin_s and of.begin_s[begin] <= event.end_s:
            missing = 1 - of.tps[begin:end] / of.level[begin:end]
            return replace(
                dip,
                depth=float(missing.mean()),
                deepest=float(missing.max()),
                length_s=float(of.end_s[end - 1] - of.begin_s[begin]),
            )
    return dip
