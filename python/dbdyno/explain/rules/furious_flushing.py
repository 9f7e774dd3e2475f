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

import numpy as np
from msgspec import Struct, structs

from dbdyno.analysis.protocol import MYSQL
from dbdyno.analysis.readings import LevelSeries
from dbdyno.explain.case import Case
from dbdyno.explain.needs import (
    committed,
    grown,
    growth_if_reported,
    levels,
    measured,
    needed,
)
from dbdyno.explain.rule import MINOR, NOTICED, NotFound, Outcome, Rule, found, severity_of
from dbdyno.formatting import count, percent, seconds, size
from dbdyno.model.record import Finding

NEAR = 0.8
FREE_WAITS_MIN = 0.01
"""Of the transactions: fewer waits for a free page cost next to nothing."""
OFTEN_S = 60.0
"""If the load goes through the log in less time, the log is small for it."""
_LOG = "wal_position"


class _Log(Struct, frozen=True, kw_only=True):
    """The redo log under load: how full it was, and the throughput lost when near full."""

    near: float
    """The part of the measured time in which the age was near its bound."""
    lost: float
    peak_share: float
    bound_bytes: float
    bytes_per_s: float
    free_waits: float

    @property
    def turn_s(self) -> float:
        """Time that the load takes to go through the whole log."""
        return self.bound_bytes / max(self.bytes_per_s, 1.0)


def look(case: Case) -> Outcome:
    """Found near the bound, or if sessions waited for free pages."""
    log = _log(case)
    if log.near < NOTICED and not log.free_waits:
        return NotFound(f"the redo log was never more than {percent(log.peak_share)} full")
    if log.near < NOTICED and log.free_waits < FREE_WAITS_MIN * committed(case):
        return NotFound(f"sessions waited for a free page only {count(log.free_waits)} times")
    if log.near < NOTICED:
        return _for_free_pages(log)
    return _finding(log)


def _log(case: Case) -> _Log:
    age, bound = levels(case, _LOG, "age_bytes"), levels(case, _LOG, "age_max_bytes")
    ages = measured(case, age)
    needed(len(ages) or None, "the redo log was not read under load")
    filled = ages / needed(float(bound.value[-1]) or None, "the log has no size")
    duration_s = needed(case.record.duration_s, "nothing was measured")
    return _Log(
        near=float(np.mean(filled >= NEAR)),
        lost=_lost(case, age, NEAR * float(bound.value[-1])),
        peak_share=float(filled.max()),
        bound_bytes=float(bound.value[-1]),
        bytes_per_s=grown(case, _LOG, "bytes") / duration_s,
        free_waits=growth_if_reported(case, "global_status", "Innodb_buffer_pool_wait_free") or 0.0,
    )


def _lost(case: Case, age: LevelSeries, near_bytes: float) -> float:
    """Loss in the seconds near the bound relative to the others, over all; 0 without both."""
    timeline = case.timeline.whole_intervals()
    in_load = timeline.phase == "measure"
    seconds, tps = timeline.seconds[in_load], timeline.tps[in_load]
    at = np.searchsorted(age.time_s, timeline.time_s[in_load] + seconds)
    is_near = age.value[at.clip(0, len(age.value) - 1)] >= near_bytes
    near_s, others_s = (float(seconds[which].sum()) for which in (is_near, ~is_near))
    near, others = (float((tps * seconds)[which].sum()) for which in (is_near, ~is_near))
    if not near_s or not others:
        return 0.0
    missing = max(1.0 - near / near_s / (others / others_s), 0.0)
    return missing * near_s / (near_s + others_s)


def _finding(log: _Log) -> Finding:
    is_small = log.turn_s < OFTEN_S
    return found(
        f"The redo log was nearly full for {percent(log.near)} of the time, so changes wait until "
        f"pages are written: at {size(log.bytes_per_s)} per second the load fills its "
        f"{size(log.bound_bytes)} every {seconds(log.turn_s)}.",
        share=log.lost if log.lost >= NOTICED else None,
        share_of="lost throughput" if log.lost >= NOTICED else "",
        severity=severity_of(max(log.lost, log.near / 2 if is_small else MINOR)),
        certainty="sure" if is_small and log.lost >= MINOR else "likely",
        evidence=structs.asdict(log) | {"turn_s": log.turn_s},
        seen=[
            f"Peak checkpoint age: {percent(log.peak_share)} of its maximum.",
            *_lost_text(log),
            *_free_text(log),
        ],
        why="Pages that are flushed in a hurry are written again and again, each through the "
        "doublewrite buffer, and sessions that change data wait meanwhile.",
        advice=[
            f"Raise innodb_log_file_size (MySQL: innodb_redo_log_capacity): one hour of redo is "
            f"{size(log.bytes_per_s * 3600)}.",
            "Flush pages earlier and more evenly: set innodb_io_capacity to what the storage can "
            "do, and innodb_max_dirty_pages_pct_lwm above 0.",
        ],
        refute="Run again with a redo log of eight times the size: the checkpoint age must stay "
        "far below its maximum, and throughput must be even.",
    )


def _lost_text(log: _Log) -> list[str]:
    lost = f"This cost {percent(log.lost)} of the run's throughput."
    return [lost] if log.lost >= NOTICED else []


def _free_text(log: _Log) -> list[str]:
    times = count(log.free_waits)
    return [f"Sessions waited for a free page {times} times."] if log.free_waits else []


def _for_free_pages(log: _Log) -> Finding:
    return found(
        f"Sessions waited for a free page of the buffer pool {count(log.free_waits)} times: it is "
        "full of dirty pages that are not flushed soon enough.",
        title="Buffer pool full of dirty pages",
        severity="minor",
        certainty="likely",
        evidence={"free_waits": log.free_waits},
        seen=_free_text(log),
        why="A session that reads a page must then write another one first.",
        advice=[
            "Raise innodb_buffer_pool_size, or flush pages sooner: innodb_io_capacity, "
            "innodb_lru_scan_depth, innodb_max_dirty_pages_pct.",
        ],
        refute="Run with twice the buffer pool: the waits must disappear.",
    )


RULE = Rule(
    id="furious_flushing",
    title="Furious flushing: the redo log is full",
    look=look,
    covers=frozenset({"wal_write"}),
    protocols=frozenset({MYSQL}),
)
