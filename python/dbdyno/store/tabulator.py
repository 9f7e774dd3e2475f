"""Turns the frames of a run into rows of its tables.

Takes frames in the order in which they arrived; what belongs to no table is kept as the engine's
report. Opens no file, and judges nothing; frames that yield no row are ignored.
"""

import math
from collections.abc import Iterable, Mapping
from functools import singledispatchmethod
from typing import Any

import msgspec

from dbdyno.model import frame as frames, tables
from dbdyno.model.run import TABLES
from dbdyno.model.tables import Columns
from dbdyno.model.telemetry import (
    Counts,
    Lack,
    LogEntry,
    ProfileCounts,
    ProfileFacts,
    TelemetryCost,
    TelemetryFrame,
    Waits,
)
from dbdyno.store.columns import BucketsBuilder, LazyTables, TableBuilder

_PERCENTILES = ("p50", "p90", "p95", "p99", "p999", "p9999")
_LATENCY = ("count", *(f"{name}_ms" for name in ("mean", "min", *_PERCENTILES, "max")))


class Tabulator:
    """Takes the frames of one run in order; holds its tables and the engine's report."""

    def __init__(self) -> None:
        self._tables: dict[type[tables.Table], TableBuilder] = {}
        self._buckets: dict[type[tables.Table], BucketsBuilder] = {}
        for table in TABLES.values():
            if issubclass(table, tables.Buckets):
                self._buckets[table] = BucketsBuilder(table)
            else:
                self._tables[table] = TableBuilder(table)
        self._begin_ns: int | None = None
        self._unix_offset_ns = 0
        self._workers: list[str] = []
        self.engine: dict[str, Any] = {}

    def take(self, all_frames: Iterable[frames.Frame | TelemetryFrame]) -> "Tabulator":
        """Add frames; return itself."""
        for frame in all_frames:
            self._add(frame)
        return self

    def tables(self) -> Mapping[str, Columns]:
        """Return all tables, including empty ones; they stay as they are."""
        builders = self._tables | self._buckets
        return LazyTables({name: builders[table].so_far() for name, table in TABLES.items()})

    def _time_s(self, at_ns: int) -> float:
        if self._begin_ns is None:
            self._begin_ns = at_ns
        return (at_ns - self._begin_ns) / 1e9

    @singledispatchmethod
    def _add(self, frame: object) -> None:
        """Add the rows of a frame; those of other types yield none."""

    @_add.register
    def _add_hello(self, frame: frames.Hello) -> None:
        for number, text in enumerate(frame.statements):
            self._tables[tables.StatementTexts].add(
                statement=number,
                script=text.script,
                index=text.index,
                line=text.line,
                sql=text.sql,
                connection=0,
                server=0,
            )
        self._workers = frame.workers
        fields = msgspec.to_builtins(frame)
        self.engine["hello"] = fields | {"statements": len(frame.statements)}

    @_add.register
    def _add_statement(self, frame: frames.Statement) -> None:
        self._tables[tables.StatementTexts].add(
            statement=frame.statement,
            script=frame.script,
            index=frame.statement,
            line=0,
            sql=frame.sql,
            connection=frame.connection,
            server=frame.server,
        )

    @_add.register
    def _add_connected(self, frame: frames.Connected) -> None:
        fields = msgspec.structs.asdict(frame)
        found = _latency(frame.connect)
        measured = {name: value for name, value in found.items() if not math.isnan(value)}
        self.engine["connected"] = fields | {"connect": measured}

    @_add.register
    def _add_started(self, frame: frames.Started) -> None:
        self._begin_ns = frame.measure_begin_ns
        self._unix_offset_ns = frame.unix_ns - frame.monotonic_ns
        self.engine["started"] = msgspec.to_builtins(frame)

    @_add.register
    def _add_interval(self, frame: frames.Interval) -> None:
        self._add_interval_row(frame)
        for number, script in enumerate(frame.scripts):
            self._add_script(frame.index, number, script)
        for number, statement in enumerate(frame.statements):
            if statement.count:
                rows, without = frame.rows[number] if frame.rows else (math.nan, math.nan)
                self._tables[tables.Statements].add(
                    interval=frame.index,
                    statement=number,
                    rows=rows,
                    executions_without_rows=without,
                    **_latency(statement),
                )
                buckets = self._buckets[tables.StatementBuckets]
                buckets.add(frame.index, number, statement.buckets)
        for table, distribution in (
            (tables.FailedLatencies, frame.failed_response),
            (tables.Connects, frame.connects),
            (tables.Lateness, frame.engine.lateness),
        ):
            if distribution.count:
                self._tables[table].add(interval=frame.index, **_latency(distribution))
        for failure in frame.failures:
            self._tables[tables.Failures].add(
                interval=frame.index,
                failure_class=failure.failure_class,
                code=failure.code,
                count=failure.count,
                message=failure.message,
                unknown=failure.unknown,
            )
        for slow in frame.slowest:
            self._add_slow(frame.index, slow)
        for number, server in enumerate(frame.servers):
            self._tables[tables.ServerIntervals].add(
                interval=frame.index, server=number, **msgspec.structs.asdict(server)
            )
        for part in frame.workers:
            self._add_worker(frame.index, part)

    def _add_interval_row(self, frame: frames.Interval) -> None:
        of_engine = msgspec.structs.asdict(frame.engine)
        del of_engine["lateness"]
        self._tables[tables.Intervals].add(
            interval=frame.index,
            phase=frame.phase,
            time_s=self._time_s(frame.begin_ns),
            seconds=(frame.end_ns - frame.begin_ns) / 1e9,
            unix_s=(frame.begin_ns + self._unix_offset_ns) / 1e9,
            completed_ok=frame.completed_ok,
            completed_committed=frame.completed_committed,
            completed_failed=frame.completed_failed,
            **msgspec.structs.asdict(frame.copied),
            **msgspec.structs.asdict(frame.counters),
            **of_engine,
        )

    def _add_script(self, interval: int, number: int, script: frames.ScriptInterval) -> None:
        self._tables[tables.Scripts].add(
            interval=interval,
            script=number,
            ok=script.ok,
            committed=script.committed,
            failed=script.failed,
            skipped=script.skipped,
            **_latency(script.response),
        )
        self._buckets[tables.ScriptBuckets].add(interval, number, script.response.buckets)
        if script.service is not None:
            service = self._tables[tables.Services]
            service.add(interval=interval, script=number, **_latency(script.service))
            self._buckets[tables.ServiceBuckets].add(interval, number, script.service.buckets)

    def _add_worker(self, interval: int, part: frames.WorkerInterval) -> None:
        late_ns = part.lateness_p99_ns
        self._tables[tables.WorkerIntervals].add(
            interval=interval,
            worker=self._workers[part.worker],
            time_s=self._time_s(part.begin_ns),
            seconds=(part.end_ns - part.begin_ns) / 1e9,
            completed_ok=part.completed_ok,
            completed_committed=part.completed_committed,
            completed_failed=part.completed_failed,
            in_flight=part.in_flight,
            lateness_p99_ms=math.nan if late_ns is None else late_ns / 1e6,
            cpu_us=part.cpu_us,
            waited_us=part.waited_us,
            paused_us=part.paused_us,
            **_latency(part.response),
        )

    def _add_slow(self, interval: int, slow: frames.SlowTransaction) -> None:
        steps = [{"statement": number, "ms": ns / 1e6} for number, ns in slow.statements]
        self._tables[tables.Slowest].add(
            interval=interval,
            script=slow.script,
            client=slow.client,
            number=slow.number,
            time_s=self._time_s(slow.due_ns),
            response_ms=(slow.done_ns - slow.due_ns) / 1e6,
            service_ms=(slow.done_ns - slow.sent_ns) / 1e6,
            tries=slow.tries,
            statements=steps,
        )

    @_add.register
    def _add_window(self, frame: frames.Window) -> None:
        time_s, seconds = self._time_s(frame.begin_ns), (frame.end_ns - frame.begin_ns) / 1e9
        for kind, number, histogram in _histograms(frame.scripts, frame.statements):
            self._tables[tables.Windows].add(
                time_s=time_s, seconds=seconds, kind=kind, number=number, histogram=histogram
            )

    @_add.register
    def _add_outage(self, frame: frames.Outage) -> None:
        seconds = math.nan if frame.end_ns is None else (frame.end_ns - frame.begin_ns) / 1e9
        self._tables[tables.Outages].add(
            time_s=self._time_s(frame.begin_ns),
            seconds=seconds,
            connections_lost=frame.connections_lost,
            message=frame.message,
        )

    @_add.register
    def _add_done(self, frame: frames.Done) -> None:
        totals = self._tables[tables.Totals]
        for kind in ("response", "service", "failed_response", "lateness"):
            totals.add(kind=kind, number=0, histogram=getattr(frame, kind))
        for kind, number, histogram in _histograms(frame.scripts, frame.statements):
            totals.add(kind=kind, number=number, histogram=histogram)
        fields = msgspec.structs.asdict(frame)
        blobs = ("response", "service", "failed_response", "lateness", "scripts", "statements")
        kept = {name: value for name, value in fields.items() if name not in blobs}
        self.engine["done"] = msgspec.to_builtins(kept)

    @_add.register
    def _add_failed(self, frame: frames.Failed) -> None:
        self.engine["failed"] = msgspec.to_builtins(frame)

    @_add.register
    def _add_counts(self, frame: Counts) -> None:
        read = {"time_s": self._time_s(frame.at_ns), "source": frame.source}
        self._tables[tables.Samples].add(
            **read,
            seconds=frame.seconds,
            cost_ms=frame.cost_us / 1000,
            was_reset=frame.was_reset,
        )
        for of, name, delta in frame.deltas:
            self._tables[tables.Counters].add(**read, object=of, name=name, delta=delta)
        for of, name, value in frame.levels:
            self._tables[tables.Levels].add(**read, object=of, name=name, value=value)

    @_add.register
    def _add_waits(self, frame: Waits) -> None:
        time_s = self._time_s(frame.at_ns)
        costs = [("waits", frame.seconds, frame.cost_us / 1000)]
        if frame.locks_seconds is not None:
            costs.append(("locks", frame.locks_seconds, 0.0))
        for source, seconds, cost_ms in costs:
            self._tables[tables.Samples].add(
                time_s=time_s, source=source, seconds=seconds, cost_ms=cost_ms, was_reset=False
            )
        for seen in frame.waits:
            self._tables[tables.Waits].add(time_s=time_s, **msgspec.structs.asdict(seen))
        for blocked in frame.blocking:
            row = msgspec.structs.asdict(blocked)
            if blocked.waited_s is None:
                row["waited_s"] = math.nan
            self._tables[tables.Blocking].add(time_s=time_s, **row)

    @_add.register
    def _add_log_entry(self, frame: LogEntry) -> None:
        self._tables[tables.LogEntries].add(
            time_s=self._time_s(frame.at_ns),
            topic=frame.topic,
            severity=frame.severity,
            message=frame.message,
            values=msgspec.json.encode(frame.values).decode(),
        )

    @_add.register
    def _add_lack(self, frame: Lack) -> None:
        time_s = self._time_s(frame.at_ns)
        self._tables[tables.Lacks].add(time_s=time_s, source=frame.source, reason=frame.reason)

    @_add.register
    def _add_profile_facts(self, frame: ProfileFacts) -> None:
        facts = msgspec.structs.asdict(frame)
        del facts["at_ns"]
        self.engine["profile"] = facts

    @_add.register
    def _add_profile_counts(self, frame: ProfileCounts) -> None:
        for its in frame.functions:
            self._tables[tables.ProfileFunctions].add(**msgspec.structs.asdict(its))
        # The grid of whole seconds is exact, and far smaller on disk than instants.
        time_s = round(self._time_s(frame.at_ns), 3)
        for task_class, function, samples in frame.counts:
            self._tables[tables.ProfileCounts].add(
                time_s=time_s, task_class=task_class, function=function, samples=samples
            )

    @_add.register
    def _add_telemetry_cost(self, frame: TelemetryCost) -> None:
        self.engine["telemetry"] = msgspec.structs.asdict(frame)


def _latency(of: frames.Distribution) -> dict[str, float]:
    """Return the columns of ``Latencies``; without measured values there are no percentiles."""
    if not of.count:
        return {name: 0 if name == "count" else math.nan for name in _LATENCY}
    spans = (of.min_ns, *(getattr(of, f"{name}_ns") for name in _PERCENTILES), of.max_ns)
    values = (of.count, of.sum_ns / of.count / 1e6, *(span / 1e6 for span in spans))
    return dict(zip(_LATENCY, values, strict=True))


def _histograms(
    scripts: list[frames.WindowScript], statements: list[bytes]
) -> Iterable[tuple[str, int, bytes]]:
    for number, script in enumerate(scripts):
        yield "script_response", number, script.response
        if script.service is not None:
            yield "script_service", number, script.service
    for number, statement in enumerate(statements):
        yield "statement", number, statement
