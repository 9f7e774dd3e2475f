"""The measurement intervals of a run as objects, for streams and for programs."""

import math
from collections import defaultdict
from typing import Any

import numpy as np
from msgspec import Struct

from dbdyno.analysis.series.timeline import timeline
from dbdyno.analysis.workers import by_number
from dbdyno.model.run import Run
from dbdyno.model.tables import rows


class WorkerResult(Struct, frozen=True, kw_only=True):
    """What one of the agents that share the load counted in an interval."""

    name: str
    tps: float
    p99_ms: float | None


class ServerResult(Struct, frozen=True, kw_only=True):
    """What happened in an interval at one of several servers."""

    name: str
    """As in ``servers`` of the record."""
    tps: float
    """Transactions that ran to their end there, per second, those that rolled back included."""
    failed: int
    """Transactions that failed there."""
    connects: int
    """Connections that clients made to it."""
    connects_failed: int
    """Their attempts to connect to it that failed."""
    connections_lost: int
    """Their connections to it that broke."""


class IntervalResult(Struct, frozen=True, kw_only=True):
    """What one measurement interval counted; times as in the table ``intervals``."""

    interval: int
    phase: str
    time_s: float
    seconds: float
    unix_s: float
    tps: float
    failed_per_s: float
    p50_ms: float | None
    """Response times, over all scripts; None if nothing completed."""
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    in_flight: int
    waiting: int
    """Transactions that were due and not started when the interval ended."""
    workers: list[WorkerResult] = []
    """Each agent, by name, if several share the load; one that is lost is missing."""
    servers: list[ServerResult] = []
    """Each server, by its number, if the load goes to several."""


class Intervals(Struct, frozen=True, kw_only=True):
    """The intervals of a run so far, after one."""

    run_id: str
    intervals: list[IntervalResult]


def intervals_of(run: Run, since: int = -1) -> Intervals:
    """The intervals with numbers above ``since``, in order."""
    table, line = run.intervals, timeline(run)
    first = int((table.interval <= since).sum())
    columns = {
        "interval": table.interval,
        "phase": table.phase,
        "time_s": line.time_s,
        "seconds": line.seconds,
        "unix_s": table.unix_s,
        "tps": line.tps,
        "failed_per_s": line.failed_per_s,
        **line.latencies_ms,
        "in_flight": table.in_flight,
        "waiting": table.waiting,
    }
    workers, servers = _workers(run, since), _servers(run, since)
    found = [
        IntervalResult(
            **{name: _known(value) for name, value in zip(columns, row, strict=True)},
            workers=workers.get(row[0], []),
            servers=servers.get(row[0], []),
        )
        for row in rows(*(column[first:] for column in columns.values()))
    ]
    return Intervals(run_id=run.record.run_id, intervals=found)


def _workers(run: Run, since: int) -> dict[int, list[WorkerResult]]:
    """What each agent counted, by the numbers of intervals."""
    table = run.worker_intervals
    table = table.where(table.interval > since)
    found = defaultdict[int, list[WorkerResult]](list)
    tps = table.completed_committed / np.maximum(table.seconds, 1e-9)
    for interval, name, rate, p99_ms in rows(table.interval, table.worker, tps, table.p99_ms):
        found[interval].append(WorkerResult(name=name, tps=rate, p99_ms=_known(p99_ms)))
    for of_interval in found.values():
        of_interval.sort(key=lambda worker: by_number(worker.name))
    return found


def _servers(run: Run, since: int) -> dict[int, list[ServerResult]]:
    """What happened at each server, by the numbers of intervals; nothing if there is only one."""
    table = run.server_intervals
    table = table.where(table.interval > since)
    counted = (
        *(table.completed_committed, table.completed_failed),
        *(table.connects, table.connects_failed, table.connections_lost),
    )
    seen = {
        (interval, number): counts
        for interval, number, *counts in rows(table.interval, table.server, *counted)
    }
    found = defaultdict[int, list[ServerResult]](list)
    shown = run.intervals.where(run.intervals.interval > since)
    for interval, seconds in rows(shown.interval, shown.seconds):
        for number, server in enumerate(run.record.servers):
            # A server has no row of an interval in which nothing happened there.
            ok, failed, connects, refused, lost = seen.get((interval, number), [0] * 5)
            result = ServerResult(
                name=server.name,
                tps=ok / max(seconds, 1e-9),
                failed=failed,
                connects=connects,
                connects_failed=refused,
                connections_lost=lost,
            )
            found[interval].append(result)
    return found


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
