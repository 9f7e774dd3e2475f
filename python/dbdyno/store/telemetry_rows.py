"""Turns telemetry's frames into rows of a run's tables.

Pure; the tables themselves are declared in ``store/tables.py``. One frame becomes rows of several
tables, because readings and their results have different columns.
"""

import math
from collections.abc import Callable, Iterator
from functools import singledispatch
from typing import Any, TypeAlias

import msgspec

from dbdyno.model.telemetry import Counts, Lack, LogEntry, Waits

Row: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = Iterator[tuple[str, Row]]
TimeOf: TypeAlias = Callable[[int], float]


@singledispatch
def rows_of(frame: object, time_of: TimeOf) -> Rows:  # noqa: ARG001 - each type has its own
    """Yield each row with the name of its table; ``time_of`` converts an instant to seconds."""
    raise TypeError(frame)


@rows_of.register
def _of_counts(frame: Counts, time_of: TimeOf) -> Rows:
    time_s = time_of(frame.at_ns)
    cost_ms = frame.cost_us / 1000
    yield "samples", (time_s, frame.source, frame.seconds, cost_ms, frame.was_reset)
    for delta in frame.deltas:
        yield "counters", (time_s, frame.source, *delta)
    for level in frame.levels:
        yield "levels", (time_s, frame.source, *level)


@rows_of.register
def _of_waits(frame: Waits, time_of: TimeOf) -> Rows:
    time_s = time_of(frame.at_ns)
    yield "samples", (time_s, "waits", frame.seconds, frame.cost_us / 1000, False)
    if frame.locks_seconds is not None:
        yield "samples", (time_s, "locks", frame.locks_seconds, 0.0, False)
    for seen in frame.waits:
        yield "waits", (time_s, *msgspec.structs.astuple(seen))
    for blocked in frame.blocking:
        *columns, waited_s = msgspec.structs.astuple(blocked)
        yield "blocking", (time_s, *columns, math.nan if waited_s is None else waited_s)


@rows_of.register
def _of_log_entry(frame: LogEntry, time_of: TimeOf) -> Rows:
    values = msgspec.json.encode(frame.values).decode()
    fields = (frame.topic, frame.severity, frame.message, values)
    yield "log_entries", (time_of(frame.at_ns), *fields)


@rows_of.register
def _of_lack(frame: Lack, time_of: TimeOf) -> Rows:
    yield "lacks", (time_of(frame.at_ns), frame.source, frame.reason)
