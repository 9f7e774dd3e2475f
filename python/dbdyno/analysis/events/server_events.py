"""Autovacuums, WAL switches, deadlocks and outages, from the server's log or its counters.

A counter that grew shows that something ended since the last reading, not when: such an event
covers the whole reading.
"""

import math
from collections.abc import Iterator
from typing import TypeAlias

import msgspec
import numpy as np

from dbdyno.analysis.events.run_event import RunEvent, entries, joined
from dbdyno.analysis.series.readings import Growth, growth, level, objects
from dbdyno.model.counters import (
    GlobalStatus,
    InnodbMetrics,
    PgDatabase,
    PgUserTables,
    Progress,
    WalPosition,
)
from dbdyno.model.run import Run
from dbdyno.model.tables import rows

Values: TypeAlias = dict[str, float | str]

_VACUUM = "VACUUM/"
# PostgreSQL, MariaDB, MySQL.
DEADLOCKS = (
    PgDatabase.deadlocks,
    GlobalStatus.Innodb_deadlocks,
    InnodbMetrics.lock_deadlocks,
)
# Deadlocks and vacuums closer together than this are one event.
_GAP_S = 1.0
AUTOVACUUM_OF = "autovacuum of "
"""How the label of an autovacuum begins, before the table."""
RESTART = "server restart"
"""The label of an outage in which the server's log shows a start."""


def autovacuums(run: Run) -> list[RunEvent]:
    """Autovacuums per table; from the counters if the log has none (it may omit short ones)."""
    logged = []
    for entry in entries(run, "autovacuum"):
        elapsed_s = entry.number("elapsed_s")
        begin_s = entry.time_s - (0.0 if math.isnan(elapsed_s) else elapsed_s)
        table = str(entry.values.get("table", ""))
        logged.append(_vacuum(table, begin_s, entry.time_s, entry.values))
    known = {event.label for event in logged}
    counted = [event for event in _counted_vacuums(run) if event.label not in known]
    return joined([*logged, *counted], _GAP_S)


def _vacuum(table: str, begin_s: float, end_s: float, values: Values) -> RunEvent:
    return RunEvent(
        kind="autovacuum",
        label=f"{AUTOVACUUM_OF}{table}" if table else "autovacuum",
        begin_s=begin_s,
        end_s=end_s,
        values=values,
    )


def _counted_vacuums(run: Run) -> Iterator[RunEvent]:
    """Vacuums that ended, by the tables' counters, and the readings that show one at work."""
    for table in objects(run, PgUserTables.source):
        ended = growth(run, PgUserTables.autovacuum_count, table)
        if ended is None or not ended.delta.any():
            continue
        yield from _at_work(run, table)
        for begin_s, end_s, count in _grown(ended):
            yield _vacuum(table, begin_s, end_s, {"count": count})


def _at_work(run: Run, table: str) -> Iterator[RunEvent]:
    """Each reading that shows a vacuum at work; none has ended yet, so their count is 0."""
    progress = level(run, Progress.total, f"{_VACUUM}{table}")
    if progress is None:
        return
    ends_s = [*progress.time_s[1:].tolist(), float(progress.time_s[-1])]
    for begin_s, end_s, total in zip(
        progress.time_s.tolist(), ends_s, progress.value.tolist(), strict=True
    ):
        if total:
            yield _vacuum(table, begin_s, end_s, {"count": 0.0})


def wal_switches(run: Run) -> list[RunEvent]:
    """Readings in which the WAL moved on to its next file; consecutive ones are one event."""
    found = [
        RunEvent(
            kind="wal_switch",
            label="WAL switch",
            begin_s=begin_s,
            end_s=end_s,
            values={"count": count},
        )
        for begin_s, end_s, count in _grown(growth(run, WalPosition.segments))
    ]
    return joined(found, 0.0)


def _grown(counted: Growth | None) -> Iterator[tuple[float, float, float]]:
    """The begin and the end of each reading in which a counter grew, and by how much."""
    if counted is None:
        return
    for place in np.flatnonzero(counted.delta).tolist():
        end_s = float(counted.time_s[place])
        yield end_s - float(counted.seconds[place]), end_s, float(counted.delta[place])


def deadlocks(run: Run) -> list[RunEvent]:
    """Moments at which the server ended a deadlock by aborting one of its transactions."""
    logged = [_deadlock(entry.time_s, entry.time_s, 1) for entry in entries(run, "deadlock")]
    counted = (_deadlock(*reading) for reading in _grown(deadlocks_counted(run)))
    return joined(logged or counted, _GAP_S)


def _deadlock(begin_s: float, end_s: float, count: float) -> RunEvent:
    return RunEvent(
        kind="deadlock", label="deadlock", begin_s=begin_s, end_s=end_s, values={"count": count}
    )


def deadlocks_counted(run: Run) -> Growth | None:
    """Deadlocks as the server counts them, under whichever name; None if it does not."""
    counted = (growth(run, counter, "") for counter in DEADLOCKS)
    return next((growth for growth in counted if growth is not None), None)


def outages(run: Run, end_of_run_s: float) -> list[RunEvent]:
    """Lost connections, as each thread of the engine saw them, and restarts found in the log.

    One that did not end lasts until the end of the run.
    """
    begin_s = run.intervals.time_s.min(initial=0.0)
    started = [entry.time_s for entry in entries(run, "start")]
    restarts = [(time_s, time_s) for time_s in started if begin_s < time_s < end_of_run_s]
    lost = [
        (time_s, end_of_run_s if math.isnan(seconds) else time_s + seconds)
        for time_s, seconds in rows(run.outages.time_s, run.outages.seconds)
    ]
    spans = [
        RunEvent(kind="outage", label="outage", begin_s=begin, end_s=end)
        for begin, end in [*lost, *restarts]
    ]
    whole = joined(spans, _GAP_S)
    named = []
    for event in whole:
        restarted = any(event.begin_s <= time_s <= event.end_s for time_s, _ in restarts)
        label = RESTART if restarted else "connections lost"
        named.append(msgspec.structs.replace(event, label=label, values={}))
    return named
