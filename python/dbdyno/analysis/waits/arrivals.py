"""The queue of an open loop: transactions that are due but not yet started by a client.

At a sustainable rate the queue varies randomly. Above capacity it grows for as long as the run
lasts (Kleinrock, *Queueing Systems* I, 1975, §2.1). It also grows while a server stands still,
which says nothing about the rate.
"""

import math

import numpy as np
from msgspec import Struct

from dbdyno.analysis.series.planned_load import is_open_loop
from dbdyno.analysis.series.totals import duration_s
from dbdyno.analysis.statistics.estimate import Series, median
from dbdyno.analysis.statistics.spans import Mask, true_spans
from dbdyno.model.run import Run, once

_DUE_SHARE = 0.05
_DEVIATIONS = 3.0
_USUAL_SHARE = 1 / 3
# If this many were expected, counting none is four standard deviations below.
_MISSED_MIN = 16


class Arrivals(Struct, frozen=True, kw_only=True):
    """Transactions that became due while measuring, and the queue of those not yet started.

    ``waiting`` is the queue at the end, ``waiting_mean`` its mean over the ends of intervals,
    ``waiting_usual`` its median in the second half, and ``waiting_at_work`` its median over the
    intervals in which the server did not stand still. In a closed loop nothing waits.
    ``due_while_still`` became due in whole intervals without any completion although many were
    expected, in stretches longer than a client takes for one transaction; these last ``still_s``
    seconds together. The silence that ended a run counts in ``due_while_still``, but not in
    ``still_s``.
    """

    due: int
    waiting: int
    waiting_mean: float = 0.0
    waiting_usual: float = 0.0
    waiting_at_work: float = 0.0
    due_while_still: int = 0
    still_s: float = 0.0
    duration_s: float

    @property
    def due_per_s(self) -> float:
        """Transactions that became due per second."""
        return self.due / self.duration_s if self.duration_s else 0.0

    @property
    def lag_s(self) -> float:
        """Mean delay between due and start of a transaction: W = L/λ (Little, 1961)."""
        return self.waiting_mean / self.due_per_s if self.due else 0.0

    @property
    def overran(self) -> bool:
        """Whether more became due than completed, throughout the run.

        If a load is just sustainable and both are random, arrivals minus completions have the
        standard deviation √(2·due) at the end. The queue must exceed three of these and one in
        twenty of all transactions, and must have been at least a third as long for half of the
        second half: a stall near the end leaves a queue that was not there before. What became due
        while the server stood still is subtracted, because the rate did not cause it.
        """
        by_chance = _DEVIATIONS * math.sqrt(2 * self.due)
        return (
            self.waiting - self.due_while_still > max(by_chance, _DUE_SHARE * self.due)
            and self.waiting_usual >= _USUAL_SHARE * self.waiting
        )

    @property
    def waited_for_moments(self) -> bool:
        """Whether the queue came from a few moments and was much shorter at other times."""
        return self.waiting_at_work < _USUAL_SHARE * self.waiting_mean


@once
def arrivals(run: Run) -> Arrivals:
    """Return the queue as the engine counted it at the end of each measured interval."""
    intervals = run.intervals
    measured = intervals.phase == "measure"
    waiting = intervals.waiting[measured].astype(float)
    if not len(waiting):
        return Arrivals(due=0, waiting=0, duration_s=duration_s(run))
    due, seconds = intervals.due[measured], intervals.seconds[measured]
    is_still = _still(run, measured)
    ended = _silence_that_ended(run, intervals.completed_ok[measured])
    at_work = waiting[~(is_still | ended)]
    return Arrivals(
        due=int(due[-1]),
        waiting=int(waiting[-1]),
        waiting_mean=float(waiting.mean()),
        waiting_usual=median(waiting[len(waiting) // 2 :]),
        waiting_at_work=median(at_work) if len(at_work) else 0.0,
        due_while_still=int(np.diff(due, prepend=0)[is_still | ended].sum()),
        still_s=float(seconds[is_still & ~ended].sum()),
        duration_s=duration_s(run),
    )


def _still(run: Run, measured: Mask) -> Mask:
    """Return the measured intervals in which the server stood still.

    Nothing completed there, although at the median pace many would have. Clients that all started
    together may all be busy for the duration of one transaction: the stretch must be longer than
    that.
    """
    intervals = run.intervals
    done, seconds = intervals.completed_ok[measured], intervals.seconds[measured]
    still = np.zeros(len(done), dtype=bool)
    if not done.any():
        return still
    pace = median((done / np.maximum(seconds, 1e-9))[done > 0])
    round_s = _round_s(run, measured)
    # What became due in each interval, started or not; in a closed loop there is always more.
    due = np.diff(intervals.due[measured].astype(float), prepend=0)
    demand = due if is_open_loop(run.plan) else np.full(len(due), np.inf)
    for begin, end in true_spans(done == 0):
        lasted_s = seconds[begin:end].sum()
        missed = min(pace * lasted_s, demand[begin:end].sum())
        still[begin:end] = missed >= _MISSED_MIN and lasted_s > round_s
    return still


def _round_s(run: Run, measured: Mask) -> float:
    """Time a client needs for one transaction and the pause after it; NaN if not timed.

    The median over the intervals of the p99 of each, from start to end. The p99 of the run would
    hide a stall behind the transactions that it held up.
    """
    services = run.services
    timed = services if len(services) else run.scripts
    longest_ms = np.full(len(measured), np.nan)
    np.fmax.at(longest_ms, timed.interval, timed.p99_ms)
    known_ms = longest_ms[measured & ~np.isnan(longest_ms)]
    closed = run.plan.arrivals.closed
    pauses_ns = [
        one.pacing.keying_ns + one.pacing.think_mean_ns for one in run.plan.scripts if one.pacing
    ]
    pause_s = max([closed.think.mean_ns if closed else 0, *pauses_ns]) / 1e9
    return median(known_ms) / 1e3 + pause_s if len(known_ms) else math.nan


def _silence_that_ended(run: Run, done: Series) -> Mask:
    """The intervals since the server's last reply, if its silence ended the run."""
    silent = np.zeros(len(done), dtype=bool)
    if run.engine.done and run.engine.done.end == "stalled":
        silent[np.flatnonzero(done).max(initial=-1) + 1 :] = True
    return silent
