"""Turns the frames of a run into rows of its tables.

Takes frames in the order in which they arrived; what belongs to no table is kept as the engine's
report. Opens no file, and judges nothing; frames that yield no row are ignored.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from dbdyno.model import frame as frames, telemetry
from dbdyno.model.recording import Columns
from dbdyno.store.buckets import BucketsBuilder
from dbdyno.store.columns import TableBuilder
from dbdyno.store.tables import ENGINE_COUNTS, LATENCY, PERCENTILES, SCHEMAS
from dbdyno.store.telemetry_rows import rows_of


class Tabulator:
    """Takes the frames of one run in order; holds its tables and the engine's report."""

    def __init__(self) -> None:
        self._tables = {
            name: TableBuilder(schema) for name, schema in SCHEMAS.items() if "bucket" not in schema
        }
        self._buckets = {
            name: BucketsBuilder(schema) for name, schema in SCHEMAS.items() if "bucket" in schema
        }
        self._begin_ns: int | None = None
        self._unix_offset_ns = 0
        self.engine: dict[str, Any] = {}

    def take(self, all_frames: Iterable[frames.Frame | telemetry.TelemetryFrame]) -> "Tabulator":
        """Add frames; return itself."""
        for frame in all_frames:
            if handler := _HANDLERS.get(type(frame)):
                handler(self, frame)
        return self

    def tables(self) -> dict[str, Columns]:
        """Return all tables, including empty ones."""
        builders = self._tables | self._buckets
        return {name: builders[name].columns() for name in SCHEMAS}

    def _time_s(self, at_ns: int) -> float:
        if self._begin_ns is None:
            self._begin_ns = at_ns
        return (at_ns - self._begin_ns) / 1e9

    def _add_hello(self, frame: frames.Hello) -> None:
        for number, text in enumerate(frame.statements):
            self._tables["statement_texts"].add(
                number, text.script, text.index, text.line, text.sql, 0, 0
            )
        fields = msgspec.to_builtins(frame)
        self.engine["hello"] = fields | {"statements": len(frame.statements)}

    def _add_statement(self, frame: frames.Statement) -> None:
        self._tables["statement_texts"].add(
            frame.statement,
            frame.script,
            frame.statement,
            0,
            frame.sql,
            frame.connection,
            frame.server,
        )

    def _add_connected(self, frame: frames.Connected) -> None:
        fields = msgspec.structs.asdict(frame)
        named = dict(zip(LATENCY, _latency(frame.connect), strict=True))
        measured = {name: value for name, value in named.items() if not math.isnan(value)}
        self.engine["connected"] = fields | {"connect": measured}

    def _add_started(self, frame: frames.Started) -> None:
        self._begin_ns = frame.measure_begin_ns
        self._unix_offset_ns = frame.unix_ns - frame.monotonic_ns
        self.engine["started"] = msgspec.to_builtins(frame)

    def _add_interval(self, frame: frames.Interval) -> None:
        self._add_interval_row(frame)
        for number, script in enumerate(frame.scripts):
            self._add_script(frame.index, number, script)
        for number, statement in enumerate(frame.statements):
            if statement.count:
                rows = frame.rows[number] if frame.rows else (math.nan, math.nan)
                self._tables["statements"].add(frame.index, number, *rows, *_latency(statement))
                self._buckets["statement_buckets"].add(frame.index, number, statement.buckets)
        self._add_unnumbered(frame)
        for failure in frame.failures:
            row = (failure.failure_class, failure.code, failure.count, failure.message)
            self._tables["failures"].add(frame.index, *row)
        for slow in frame.slowest:
            self._add_slow(frame.index, slow)

    def _add_interval_row(self, frame: frames.Interval) -> None:
        self._tables["intervals"].add(
            frame.index,
            frame.phase,
            self._time_s(frame.begin_ns),
            (frame.end_ns - frame.begin_ns) / 1e9,
            (frame.begin_ns + self._unix_offset_ns) / 1e9,
            frame.completed_ok,
            frame.completed_committed,
            frame.completed_failed,
            *msgspec.structs.astuple(frame.counters),
            *(getattr(frame.engine, name) for name in ENGINE_COUNTS),
        )

    def _add_script(self, interval: int, number: int, script: frames.ScriptInterval) -> None:
        counts = (script.ok, script.committed, script.failed, script.skipped)
        self._tables["scripts"].add(interval, number, *counts, *_latency(script.response))
        self._buckets["script_buckets"].add(interval, number, script.response.buckets)
        if script.service is not None:
            self._tables["services"].add(interval, number, *_latency(script.service))
            self._buckets["service_buckets"].add(interval, number, script.service.buckets)

    def _add_unnumbered(self, frame: frames.Interval) -> None:
        for table, distribution in (
            ("failed", frame.failed_response),
            ("connects", frame.connects),
            ("lateness", frame.engine.lateness),
        ):
            if distribution.count:
                self._tables[table].add(frame.index, *_latency(distribution))

    def _add_slow(self, interval: int, slow: frames.SlowTransaction) -> None:
        steps = [{"statement": number, "ms": ns / 1e6} for number, ns in slow.statements]
        self._tables["slowest"].add(
            interval,
            slow.script,
            slow.client,
            slow.number,
            self._time_s(slow.due_ns),
            (slow.done_ns - slow.due_ns) / 1e6,
            (slow.done_ns - slow.sent_ns) / 1e6,
            slow.tries,
            steps,
        )

    def _add_window(self, frame: frames.Window) -> None:
        span = (self._time_s(frame.begin_ns), (frame.end_ns - frame.begin_ns) / 1e9)
        for row in _histograms(frame.scripts, frame.statements):
            self._tables["windows"].add(*span, *row)

    def _add_outage(self, frame: frames.Outage) -> None:
        seconds = math.nan if frame.end_ns is None else (frame.end_ns - frame.begin_ns) / 1e9
        self._tables["outages"].add(
            self._time_s(frame.begin_ns), seconds, frame.connections_lost, frame.message
        )

    def _add_done(self, frame: frames.Done) -> None:
        totals = self._tables["totals"]
        for kind in ("response", "service", "failed_response", "lateness"):
            totals.add(kind, 0, getattr(frame, kind))
        for row in _histograms(frame.scripts, frame.statements):
            totals.add(*row)
        fields = msgspec.structs.asdict(frame)
        blobs = ("response", "service", "failed_response", "lateness", "scripts", "statements")
        kept = {name: value for name, value in fields.items() if name not in blobs}
        self.engine["done"] = msgspec.to_builtins(kept)

    def _add_failed(self, frame: frames.Failed) -> None:
        self.engine["failed"] = msgspec.to_builtins(frame)

    def _add_telemetry(self, frame: telemetry.TelemetryFrame) -> None:
        for table, row in rows_of(frame, self._time_s):
            self._tables[table].add(*row)

    def _add_telemetry_cost(self, frame: telemetry.TelemetryCost) -> None:
        self.engine["telemetry"] = msgspec.structs.asdict(frame)


_HANDLERS: dict[type, Callable[..., None]] = {
    frames.Hello: Tabulator._add_hello,
    frames.Connected: Tabulator._add_connected,
    frames.Statement: Tabulator._add_statement,
    frames.Started: Tabulator._add_started,
    frames.Interval: Tabulator._add_interval,
    frames.Window: Tabulator._add_window,
    frames.Outage: Tabulator._add_outage,
    frames.Done: Tabulator._add_done,
    frames.Failed: Tabulator._add_failed,
    telemetry.Counts: Tabulator._add_telemetry,
    telemetry.Waits: Tabulator._add_telemetry,
    telemetry.LogEntry: Tabulator._add_telemetry,
    telemetry.Lack: Tabulator._add_telemetry,
    telemetry.TelemetryCost: Tabulator._add_telemetry_cost,
}


def _latency(of: frames.Distribution) -> tuple[float, ...]:
    """Return the columns of ``LATENCY``; without measured values there are no percentiles."""
    if not of.count:
        return (0, *[math.nan] * (len(LATENCY) - 1))
    spans = (of.min_ns, *(getattr(of, f"{name}_ns") for name in PERCENTILES), of.max_ns)
    return (of.count, of.sum_ns / of.count / 1e6, *(span / 1e6 for span in spans))


def _histograms(
    scripts: list[frames.WindowScript], statements: list[bytes]
) -> Iterable[tuple[str, int, bytes]]:
    for number, script in enumerate(scripts):
        yield "script_response", number, script.response
        if script.service is not None:
            yield "script_service", number, script.service
    for number, statement in enumerate(statements):
        yield "statement", number, statement
