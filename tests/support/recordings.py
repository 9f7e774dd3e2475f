"""Made-up runs with known shares: what analysis and explanation are tested on.

A :class:`MadeRun` starts with bare intervals and is given what a test needs: readings, session
samples, lines of the log, facts. Times are seconds from the end of the warm-up, as in the tables.
What a test does not give is absent, as in a run without telemetry.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from dbdyno.databases.known import recorded_database
from dbdyno.model.frame import Copied, Counters, EngineInterval
from dbdyno.model.host import HostDescription
from dbdyno.model.plan import Plan
from dbdyno.model.record import RunRecord
from dbdyno.model.run import TABLES, AsRecorded, EngineReport, RecordedServer, Run
from dbdyno.model.tables import Latencies
from dbdyno.model.telemetry import BlockCount, SampleSource, ServerFacts, WaitCount
from dbdyno.store.columns import TableBuilder
from tests.store.hdr import HISTOGRAMS

Values = float | Sequence[float] | np.ndarray

UNIX_BEGIN_S = 1_795_210_926.0
SESSIONS, LOCKS = "waits", "locks"
TIMES_MS = [name for name in Latencies.declared if name.endswith("_ms")]
ENGINE_COUNTS = [name for name in EngineInterval.__struct_fields__ if name != "lateness"]


def changed(run: Run, **changes: Any) -> Run:
    """Return the run with other plain values in ``plan``, ``engine`` or ``server``.

    Of ``columns``, the tables that are given replace those of the run; what they lack is unknown.
    """
    plain = {name: changes.pop(name, {}) for name in ("plan", "engine", "server")}
    if endpoint := plain["plan"].get("endpoint"):
        plain["plan"]["endpoint"] = {**run.as_recorded.plan["endpoint"], **endpoint}
    recorded = msgspec.structs.replace(
        run.as_recorded,
        **{name: {**getattr(run.as_recorded, name), **more} for name, more in plain.items()},
    )
    columns = {name: _completed(name, its) for name, its in changes.pop("columns", {}).items()}
    plan = msgspec.convert(recorded.plan, Plan)
    return dataclasses.replace(
        run,
        plan=plan,
        database=recorded_database(recorded.server, plan.endpoint.protocol),
        engine=msgspec.convert(recorded.engine, EngineReport),
        server=msgspec.convert(recorded.server, RecordedServer),
        as_recorded=recorded,
        columns={**run.columns, **columns},
        **changes,
    )


def with_results(run: Run, results: Mapping[Callable[[Run], Any], Any]) -> Run:
    """Return the run as if these functions of it, which are computed once, had found this."""
    known = dataclasses.replace(run)
    known.kept.update({function.__wrapped__: result for function, result in results.items()})
    return known


def _completed(table: str, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    number = len(next(iter(columns.values())))
    unknown = {name: np.zeros(number, kind.numpy) for name, kind in TABLES[table].schema.items()}
    return unknown | columns


class MadeRun:
    """A made-up run with intervals of ``interval_s`` from ``-warmup`` to ``seconds``.

    ``ok`` are the committed transactions of each interval: one number for all, one for each
    interval (the warm-up's first), or a column for each of ``scripts``. Each transaction of an
    interval took ``response_ms``. ``stages`` are the seconds and clients of each stage.
    """

    def __init__(
        self,
        ok: Any = 1000,
        *,
        seconds: float = 60,
        warmup: float = 3,
        interval_s: float = 1.0,
        clients: int = 8,
        scripts: Mapping[str, str] | None = None,
        failed: Values = 0,
        engine: Mapping[str, Values] | None = None,
        done: bool = True,
        waiting: Values = 0,
        is_open: bool = False,
        stages: Sequence[tuple[float, int]] = (),
        response_ms: Values = np.nan,
    ) -> None:
        self._builders = {name: TableBuilder(table) for name, table in TABLES.items()}
        self._scripts = dict(scripts or {"tpcb": "SELECT 1;"})
        self._readings: dict[str, dict[float, tuple[float, bool]]] = {}
        self._facts: dict[str, ServerFacts] = {}
        self.seconds, self.warmup, self.clients = seconds, warmup, clients
        self.begin_s = np.arange(-warmup, seconds, interval_s)
        self.interval_s = interval_s
        self._is_measured = self.begin_s >= -interval_s / 1e6
        shape = (len(self.begin_s), len(self._scripts))
        given = np.asarray(ok, dtype=float)
        self._by_script = np.broadcast_to(given[:, None] if given.ndim == 1 else given, shape)
        self.ok = self._by_script.sum(axis=1)
        self.failed = self._over(failed)
        self._engine = {name: self._over(value) for name, value in (engine or {}).items()}
        self._done, self._is_open, self._stages = done, is_open, stages
        self.engine_processors = 2
        self._profile: dict[str, Any] | None = None
        self._waiting, self._response_ms = self._over(waiting), self._over(response_ms)
        self._add_intervals()

    @property
    def end_s(self) -> np.ndarray:
        """The end of each interval, which is the default time of telemetry's readings."""
        return self.begin_s + self.interval_s

    def _over(self, values: Values) -> np.ndarray:
        return np.broadcast_to(np.asarray(values, dtype=float), self.begin_s.shape)

    def _add_intervals(self) -> None:
        measured = self._is_measured
        ok, failed = np.cumsum(self.ok * measured), np.cumsum(self.failed * measured)
        waiting = self._waiting * measured
        engine = {name: self._engine.get(name, self._over(0)) for name in ENGINE_COUNTS}
        for index, begin in enumerate(self.begin_s.tolist()):
            counted = _no_counts() | {
                "due": ok[index] + failed[index] + waiting[index],
                "started": ok[index] + failed[index],
                "waiting": waiting[index],
                "ok": ok[index],
                "committed": ok[index],
                "failed": failed[index],
            }
            self._builders["intervals"].add(
                interval=index,
                phase="measure" if measured[index] else "warmup",
                time_s=begin,
                seconds=self.interval_s,
                unix_s=UNIX_BEGIN_S + begin,
                completed_ok=self.ok[index],
                completed_committed=self.ok[index],
                completed_failed=self.failed[index],
                **counted,
                **dict.fromkeys(Copied.__struct_fields__, 0),
                **{name: engine[name][index] for name in ENGINE_COUNTS},
            )
            for script, count in enumerate(self._by_script[index].tolist()):
                took_ms = self._response_ms[index] if count else np.nan
                self._builders["scripts"].add(
                    interval=index,
                    script=script,
                    ok=count,
                    committed=count,
                    failed=0,
                    skipped=0,
                    count=count,
                    **dict.fromkeys(TIMES_MS, took_ms),
                )

    def counters(
        self,
        source: str,
        deltas: Mapping[str, Values],
        *,
        of: str = "",
        at_s: Values | None = None,
        was_reset: Sequence[int] = (),
    ) -> "MadeRun":
        """Add the increases of one object's counters up to each of ``at_s`` (the intervals' ends).

        The first reading, without deltas, is at the start of the load. Readings whose index is in
        ``was_reset`` saw that counters had been reset: they have no increase.
        """
        times = self._read(source, at_s, was_reset)
        for name, values in deltas.items():
            amounts = np.broadcast_to(np.asarray(values, dtype=float), times.shape)
            for index, (time_s, delta) in enumerate(zip(times, amounts.tolist(), strict=True)):
                if delta and index not in was_reset:
                    self._builders["counters"].add(
                        time_s=time_s, source=source, object=of, name=name, delta=delta
                    )
        return self

    def levels(
        self, source: str, values: Mapping[str, Values], *, of: str = "", at_s: Values | None = None
    ) -> "MadeRun":
        """Add the levels at each of ``at_s`` (the intervals' ends), without unchanged ones."""
        times = self._read(source, at_s, ())
        for name, given in values.items():
            series = np.broadcast_to(np.asarray(given, dtype=float), times.shape)
            before = None
            for time_s, value in zip(times, series.tolist(), strict=True):
                if value != before:
                    self._builders["levels"].add(
                        time_s=time_s, source=source, object=of, name=name, value=value
                    )
                before = value
        return self

    def read(self, source: str, at_s: Values | None = None) -> "MadeRun":
        """Add readings of a source without any increase or change."""
        self._read(source, at_s, ())
        return self

    def _read(self, source: str, at_s: Values | None, was_reset: Sequence[int]) -> np.ndarray:
        times = self.end_s if at_s is None else np.atleast_1d(np.asarray(at_s, dtype=float))
        known = self._readings.setdefault(source, {float(self.begin_s[0]): (0.0, False)})
        before = np.concatenate([self.begin_s[:1], times[:-1]])
        for index, (time_s, since) in enumerate(zip(times.tolist(), before, strict=True)):
            known[time_s] = (time_s - float(since), index in was_reset)
        return times

    def profile(
        self, samples: Mapping[tuple[str, ...], float], hz: int, source: SampleSource = "cpu-clock"
    ) -> "MadeRun":
        """Add samples of the server's processes to every second, as many of each function.

        A function is (class of the process, name, object), with ``kernel`` at the end if it is the
        kernel's; its object is then how the process came into it.
        """
        self._profile = {
            "hz": hz,
            "scope": "machine",
            "source": source,
            "names_kernel": True,
            "lost": 0,
        }
        for number, ((task_class, name, where, *kernel), count) in enumerate(samples.items()):
            self._builders["profile_functions"].add(
                function=number,
                kind="kernel" if kernel else "named",
                name=name,
                object="" if kernel else where,
                entry=where if kernel else "",
            )
            for second in range(int(self.end_s[-1])):
                self._builders["profile_counts"].add(
                    time_s=float(second),
                    task_class=task_class,
                    function=number,
                    samples=round(count),
                )
        return self

    def look(
        self,
        time_s: float,
        waits: Sequence[WaitCount] = (),
        blocking: Sequence[BlockCount] = (),
        *,
        seconds: float = 0.5,
        locks_seconds: float | None = None,
    ) -> "MadeRun":
        """Add a session sample, which stands for ``seconds``.

        If ``locks_seconds`` is given, it is also a lock sample for this time. In a run that never
        gives it, every sample includes the locks.
        """
        self._readings.setdefault(SESSIONS, {})[time_s] = (seconds, False)
        if locks_seconds is not None:
            self._readings.setdefault(LOCKS, {})[time_s] = (locks_seconds, False)
        for table, seen in (("waits", waits), ("blocking", blocking)):
            for row in seen:
                self._builders[table].add(time_s=time_s, **_numbers(msgspec.structs.asdict(row)))
        return self

    def log(
        self,
        time_s: float,
        topic: str,
        message: str = "",
        *,
        severity: str = "LOG",
        **values: float | str,
    ) -> "MadeRun":
        """Add a line of the server's log."""
        text = msgspec.json.encode(values).decode()
        self._builders["log_entries"].add(
            time_s=time_s, topic=topic, severity=severity, message=message, values=text
        )
        return self

    def statement(self, sql: str, *, script: int = 0, line: int = 1) -> "MadeRun":
        """Add the next statement of the plan."""
        number = len(self._builders["statement_texts"].columns()["statement"])
        self._builders["statement_texts"].add(
            statement=number,
            script=script,
            index=number,
            line=line,
            sql=sql,
            connection=0,
            server=0,
        )
        return self

    def latency(
        self, statement: int, mean_ms: float, *, count: int = 1000, without_rows: Values = np.nan
    ) -> "MadeRun":
        """Add latencies of a statement to each interval, and its executions that touched no row.

        Each of the others touched one.
        """
        without = self._over(without_rows).tolist()
        for interval in range(len(self.begin_s)):
            misses = without[interval]
            self._builders["statements"].add(
                interval=interval,
                statement=statement,
                rows=count - misses,
                executions_without_rows=misses,
                count=count,
                **dict.fromkeys(TIMES_MS, np.nan) | {"mean_ms": mean_ms},
            )
        return self

    def kept(self, *statements: int, script: int = 0, each_ms: float = 1.0) -> "MadeRun":
        """Add one of the slowest transactions, with these statements in order.

        It takes a millisecond for each of them; if they take longer, they overlap.
        """
        self._builders["slowest"].add(
            interval=0,
            script=script,
            client=0,
            number=0,
            time_s=1.0,
            response_ms=len(statements),
            service_ms=len(statements),
            tries=1,
            statements=[{"statement": number, "ms": each_ms} for number in statements],
        )
        return self

    def connects(self, mean_ms: float, *, count: int = 1000) -> "MadeRun":
        """Add this many connects to each interval."""
        for interval in range(len(self.begin_s)):
            times_ms = dict.fromkeys(TIMES_MS, np.nan) | {"mean_ms": mean_ms}
            self._builders["connects"].add(interval=interval, count=count, **times_ms)
        return self

    def outage(self, time_s: float, seconds: float, *, connections_lost: int = 1) -> "MadeRun":
        """Add an outage; ``seconds`` is NaN if no connection came back."""
        message = "server closed the connection unexpectedly"
        self._builders["outages"].add(
            time_s=time_s, seconds=seconds, connections_lost=connections_lost, message=message
        )
        return self

    def lack(self, source: str, reason: str, *, time_s: float = 0.0) -> "MadeRun":
        """Add a source that could not be read."""
        self._builders["lacks"].add(time_s=time_s, source=source, reason=reason)
        return self

    def facts(
        self, before: ServerFacts | None = None, after: ServerFacts | None = None
    ) -> "MadeRun":
        """Add the server's facts before and after the load."""
        given = {"before": before, "after": after}
        self._facts |= {when: facts for when, facts in given.items() if facts}
        return self

    def loaded(self, **changes: Any) -> Run:
        """Return the run as if loaded from its folder; ``changes`` replace parts of it.

        Plan, host, server and engine are given as plain values, as the files have them.
        """
        self._add_samples()
        plain = {
            "plan": self._plan(),
            "host": {"cpu": {"cores_online": 2}},
            "server": {"version": "PostgreSQL 15.18", "version_number": 150018},
            "engine": self._engine_record(),
        }
        recorded = AsRecorded(**{name: changes.pop(name, its) for name, its in plain.items()})
        plan = msgspec.convert(recorded.plan, Plan)
        made = Run(
            record=_record(),
            plan=plan,
            database=recorded_database(recorded.server, plan.endpoint.protocol),
            host=msgspec.convert(recorded.host, HostDescription),
            server=msgspec.convert(recorded.server, RecordedServer),
            engine=msgspec.convert(recorded.engine, EngineReport),
            before=self._facts.get("before"),
            after=self._facts.get("after"),
            as_recorded=recorded,
            histograms=HISTOGRAMS,
            columns={name: builder.columns() for name, builder in self._builders.items()},
        )
        return dataclasses.replace(made, **changes)

    def _add_samples(self) -> None:
        """Add the samples in the order of time, as they would be written."""
        read = [
            (time_s, source, seconds, was_reset)
            for source, readings in self._readings.items()
            for time_s, (seconds, was_reset) in readings.items()
        ]
        for time_s, source, seconds, was_reset in sorted(read):
            self._builders["samples"].add(
                time_s=time_s, source=source, seconds=seconds, cost_ms=1.0, was_reset=was_reset
            )
        self._readings = {}

    def _plan(self) -> dict[str, Any]:
        scripts = [
            {"name": name, "weight": 1, "text": text} for name, text in self._scripts.items()
        ]
        return {
            "endpoint": {"address": {}, "user": "postgres", "database": "postgres"},
            "scripts": scripts,
            "clients": self.clients,
            "threads": 2,
            "seed": 42,
            "arrivals": self._arrivals(),
            "stages": [
                {"duration_ns": int(seconds * 1e9), "clients": clients, "rate_tps": None}
                for seconds, clients in self._stages
            ],
        }

    def _arrivals(self) -> dict[str, Any]:
        if self._is_open:
            return {"open": {"law": "poisson"}}
        return {"closed": {"think": {"law": "constant", "mean_ns": 0}}}

    def _engine_record(self) -> dict[str, Any]:
        engine: dict[str, Any] = {
            "hello": {"processors": self.engine_processors},
            "connected": {"clients": self.clients},
        }
        if self._profile:
            engine["profile"] = self._profile
        if self._done:
            engine["done"] = {
                "end": "complete",
                "measured_ns": int(self.seconds * 1e9),
                "counters": _no_counts()
                | {
                    "ok": self._measured(self.ok),
                    "committed": self._measured(self.ok),
                    "failed": self._measured(self.failed),
                    "waiting": int(self._waiting[-1:].sum()),
                },
                "failures": [],
                "cpu_us": self._measured(self._engine.get("cpu_us", self._over(0))),
            }
        return engine

    def _measured(self, series: np.ndarray) -> int:
        return int(series[self._is_measured].sum())


def _no_counts() -> dict[str, int]:
    return dict.fromkeys(Counters.__struct_fields__, 0)


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as the table contains it: unknown values are NaN."""
    return {name: np.nan if value is None else value for name, value in row.items()}


def _record() -> RunRecord:
    return RunRecord(
        run_id="20261120-214203-tpcb-3f2a",
        status="done",
        started_at="2026-11-20T21:42:03+00:00",
        workload="tpcb",
        target="postgresql:///postgres",
        seed=42,
    )
