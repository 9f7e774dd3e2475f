"""Furious flushing: the redo log is full, and the load waits until pages are written.

Looks for: a checkpoint age near the redo log's capacity, at which the server writes pages as fast
as it can and makes changes wait; and sessions that had to wait for a free page of the buffer pool.

Arithmetic: the checkpoint age is the amount of redo that crash recovery would have to read. From
four fifths of the capacity on, the server flushes regardless of the load. The finding's share is
the part of the measured time in which the age was that high, times the part of throughput then
missing compared with the other seconds; where it always was, redo written per second over the log's
size gives how often the load fills the whole log.

Source: MySQL manual, configuring the redo log and the buffer pool's flushing; the MariaDB manual,
InnoDB redo log. Furious flushing is the established name.

Wrong when: the storage is slow only for now (a neighbour, a snapshot): a larger log merely
postpones the problem.
"""

from typing import ClassVar

import numpy as np

from dbdyno.analysis.series.readings import LevelSeries
from dbdyno.analysis.series.timeline import whole_intervals
from dbdyno.analysis.summarize import full_record
from dbdyno.explain.needs import (
    committed,
    grown,
    growth_if_reported,
    levels,
    measured,
    needed,
)
from dbdyno.explain.rule import MINOR, NOTICED, Claim, NotFound, Rule, severity_of
from dbdyno.formatting import count, percent, seconds, size
from dbdyno.model.counters import GlobalStatus, WalPosition
from dbdyno.model.record import Certainty, Severity, ShareOf
from dbdyno.model.run import Run

NEAR = 0.8
FREE_WAITS_MIN = 0.01
"""Of the transactions: fewer waits for a free page cost next to nothing."""
OFTEN_S = 60.0
"""If the load goes through the log in less time, the log is small for it."""


class FuriousFlushing(Claim, frozen=True, kw_only=True):
    """The redo log under load: how full it was, and the throughput lost when near full."""

    near: float
    """The part of the measured time in which the age was near its bound."""
    lost: float
    peak_share: float
    bound_bytes: float
    bytes_per_s: float
    free_waits: float
    turn_s: float
    """Time that the load takes to go through the whole log."""

    @property
    def share_of(self) -> ShareOf:
        return "" if self.share is None else "lost throughput"

    @property
    def is_small(self) -> bool:
        """Whether the log is small for the load."""
        return self.turn_s < OFTEN_S

    @property
    def severity(self) -> Severity:
        return severity_of(max(self.lost, self.near / 2 if self.is_small else MINOR))

    @property
    def certainty(self) -> Certainty:
        return "sure" if self.is_small and self.lost >= MINOR else "likely"

    @property
    def summary(self) -> str:
        return (
            f"The redo log was nearly full for {percent(self.near)} of the time, so changes wait "
            f"until pages are written: at {size(self.bytes_per_s)} per second the load fills its "
            f"{size(self.bound_bytes)} every {seconds(self.turn_s)}."
        )

    @property
    def seen(self) -> list[str]:
        lost = f"This cost {percent(self.lost)} of the run's throughput."
        return [
            f"Peak checkpoint age: {percent(self.peak_share)} of its maximum.",
            *([lost] if self.lost >= NOTICED else []),
            *([waited_text(self.free_waits)] if self.free_waits else []),
        ]

    why: ClassVar[str] = (
        "Pages that are flushed in a hurry are written again and again, each through the "
        "doublewrite buffer, and sessions that change data wait meanwhile."
    )

    @property
    def advice(self) -> list[str]:
        return [
            "Raise innodb_log_file_size (MySQL: innodb_redo_log_capacity): one hour of redo is "
            f"{size(self.bytes_per_s * 3600)}.",
            "Flush pages earlier and more evenly: set innodb_io_capacity to what the storage can "
            "do, and innodb_max_dirty_pages_pct_lwm above 0.",
        ]

    refute: ClassVar[str] = (
        "Run again with a redo log of eight times the size: the checkpoint age must stay far below "
        "its maximum, and throughput must be even."
    )


class FreePageWaits(Claim, frozen=True, kw_only=True):
    """Sessions that had to wait for a free page of the buffer pool."""

    free_waits: float
    title: ClassVar[str] = "Buffer pool full of dirty pages"
    severity: ClassVar[Severity] = "minor"

    @property
    def summary(self) -> str:
        return (
            f"Sessions waited for a free page of the buffer pool {count(self.free_waits)} times: "
            "it is full of dirty pages that are not flushed soon enough."
        )

    @property
    def seen(self) -> list[str]:
        return [waited_text(self.free_waits)]

    why: ClassVar[str] = "A session that reads a page must then write another one first."
    advice: ClassVar[list[str]] = [
        "Raise innodb_buffer_pool_size, or flush pages sooner: innodb_io_capacity, "
        "innodb_lru_scan_depth, innodb_max_dirty_pages_pct.",
    ]
    refute: ClassVar[str] = "Run with twice the buffer pool: the waits must disappear."


def waited_text(times: float) -> str:
    """Observed beside a full log, too."""
    return f"Sessions waited for a free page {count(times)} times."


def look(run: Run) -> FuriousFlushing | FreePageWaits | NotFound:
    """Found near the bound, or if sessions waited for free pages."""
    log = _log(run)
    if log.near >= NOTICED:
        return log
    if not log.free_waits:
        return NotFound(f"the redo log was never more than {percent(log.peak_share)} full")
    if log.free_waits < FREE_WAITS_MIN * committed(run):
        return NotFound(f"sessions waited for a free page only {count(log.free_waits)} times")
    return FreePageWaits(free_waits=log.free_waits)


def _log(run: Run) -> FuriousFlushing:
    age, bound = levels(run, WalPosition.age_bytes), levels(run, WalPosition.age_max_bytes)
    ages = measured(run, age)
    needed(len(ages) or None, "the redo log was not read under load")
    bound_bytes = needed(float(bound.value[-1]) or None, "the log has no size")
    filled = ages / bound_bytes
    duration_s = needed(full_record(run).duration_s, "nothing was measured")
    lost = _lost(run, age, NEAR * bound_bytes)
    bytes_per_s = grown(run, WalPosition.bytes) / duration_s
    return FuriousFlushing(
        share=lost if lost >= NOTICED else None,
        near=float(np.mean(filled >= NEAR)),
        lost=lost,
        peak_share=float(filled.max()),
        bound_bytes=bound_bytes,
        bytes_per_s=bytes_per_s,
        free_waits=growth_if_reported(run, GlobalStatus.Innodb_buffer_pool_wait_free) or 0.0,
        turn_s=bound_bytes / max(bytes_per_s, 1.0),
    )


def _lost(run: Run, age: LevelSeries, near_bytes: float) -> float:
    """Loss in the seconds near the bound relative to the others, over all; 0 without both."""
    line = whole_intervals(run)
    in_load = line.phase == "measure"
    seconds, tps = line.seconds[in_load], line.tps[in_load]
    at = np.searchsorted(age.time_s, line.time_s[in_load] + seconds)
    is_near = age.value[at.clip(0, len(age.value) - 1)] >= near_bytes
    near_s, others_s = (float(seconds[which].sum()) for which in (is_near, ~is_near))
    near, others = (float((tps * seconds)[which].sum()) for which in (is_near, ~is_near))
    if not near_s or not others:
        return 0.0
    missing = max(1.0 - near / near_s / (others / others_s), 0.0)
    return missing * near_s / (near_s + others_s)


RULE = Rule(
    id="furious_flushing",
    title="Furious flushing: the redo log is full",
    look=look,
    needs=frozenset({"redo_capacity"}),
)
