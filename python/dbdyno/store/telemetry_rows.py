"""Turns telemetry's frames into rows of a run's tables.

Pure; the tables themselves are declared in ``model/tables.py``. One frame becomes rows of several
tables, because readings and their results have different columns.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import singledispatch
from typing import TypeAlias

import msgspec

from dbdyno.model.tables import (
    Blocking,
    Counters,
    Lacks,
    Levels,
    LogEntries,
    Samples,
    Table,
    Waits as WaitRows,
)
from dbdyno.model.telemetry import Counts, Lack, LogEntry, Waits

Row: TypeAlias = Mapping[str, object]
"""A value for each column, by the attribute's name."""
Rows: TypeAlias = Iterator[tuple[type[Table], Row]]
TimeOf: TypeAlias = Callable[[int], float]


@singledispatch
def rows_of(frame: object, time_of: TimeOf) -> Rows:  # noqa: ARG001 - each type has its own
    """Yield each row with its table; ``time_of`` converts an instant to seconds."""
    raise TypeError(frame)


@rows_of.register
def _of_counts(frame: Counts, time_of: TimeOf) -> Rows:
    read = {"time_s": time_of(frame.at_ns), "source": frame.source}
    cost_ms = frame.cost_us / 1000
    yield (
        Samples,
        {**read, "seconds": frame.seconds, "cost_ms": cost_ms, "was_reset": frame.was_reset},
    )
    for of, name, delta in frame.deltas:
        yield Counters, {**read, "object": of, "name": name, "delta": delta}
    for of, name, value in frame.levels:
        yield Levels, {**read, "object": of, "name": name, "value": value}


@rows_of.register
def _of_waits(frame: Waits, time_of: TimeOf) -> Rows:
    at = {"time_s": time_of(frame.at_ns)}
    sample = {**at, "source": "waits", "seconds": frame.seconds, "was_reset": False}
    yield Samples, {**sample, "cost_ms": frame.cost_us / 1000}
    if frame.locks_seconds is not None:
        of_locks = {"source": "locks", "seconds": frame.locks_seconds, "cost_ms": 0.0}
        yield Samples, {**sample, **of_locks}
    for seen in frame.waits:
        yield WaitRows, {**at, **msgspec.structs.asdict(seen)}
    for blocked in frame.blocking:
        waited_s = math.nan if blocked.waited_s is None else blocked.waited_s
        yield Blocking, {**at, **msgspec.structs.asdict(blocked), "waited_s": waited_s}


@rows_of.register
def _of_log_entry(frame: LogEntry, time_of: TimeOf) -> Rows:
    yield (
        LogEntries,
        {
            "time_s": time_of(frame.at_ns),
            "topic": frame.topic,
            "severity": frame.severity,
            "message": frame.message,
            "values": msgspec.json.encode(frame.values).decode(),
        },
    )


@rows_of.register
def _of_lack(frame: Lack, time_of: TimeOf) -> Rows:
    at_s = time_of(frame.at_ns)
    yield Lacks, {"time_s": at_s, "source": frame.source, "reason": frame.reason}
