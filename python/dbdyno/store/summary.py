"""The list of runs: one line each, from plan and record, without reading a table.

The summaries of runs that have ended are kept in an index, because reading ten thousand records
takes seconds. It is only derived: what differs from the folders is read again, whoever finds the
index missing or damaged makes a new one, and of several that write it, one wins.
"""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import MsgspecError, Struct, ValidationError, convert
from msgspec.msgpack import decode, encode

from dbdyno.model.plan import Scalar
from dbdyno.model.record import RunRecord, Status
from dbdyno.model.study import MADE_FOR
from dbdyno.store.errors import StoreError, leave_out
from dbdyno.store.files import PLAN, read_json, replace_bytes
from dbdyno.store.listing import Stamp, read_record, record_stamps, runs_folder

State: TypeAlias = Literal["valid", "not-valid", "done", "running", "failed", "interrupted"]
MadeFor: TypeAlias = Literal["study", "search", "verifies", "nothing"]
_INDEX = ".index"
_OF_NOTHING = "nothing"
_OF_RESPONSES = ("mean", "p50", "p95", "p99", "p999", "max")


class RunSummary(Struct, frozen=True, kw_only=True):
    """The data by which users choose runs: their conditions and main results.

    ``rate_tps`` is set for runs with a single rate; ``p999_ms`` and the like are response times.
    ``tool`` is set for imported runs. ``made_for`` is the tag by which a command marks the runs
    that it makes for a result of its own.
    """

    run_id: str
    status: Status
    started_at: str
    workload: str
    command: str
    target: str
    product: str | None
    version: str | None
    promise: str | None
    tool: str | None
    clients: int | None
    threads: int | None
    scale: int | None
    loop: str | None
    rate_tps: float | None
    query_mode: str | None
    valid: bool | None
    duration_s: float | None
    ok: int | None
    committed: int | None
    failed: int | None
    retried: int | None
    tps: float | None
    tps_low: float | None
    tps_high: float | None
    nopm: float | None
    mqth: float | None
    queries_per_hour: float | None
    copy_in_rows_per_s: float | None
    copy_in_bytes_per_s: float | None
    copy_out_rows_per_s: float | None
    copy_out_bytes_per_s: float | None
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    max_ms: float | None
    server_cpu_us: float | None
    engine_cpu_us: float | None
    wal_bytes: float | None
    made_for: str | None
    tags: dict[str, str]

    @property
    def state(self) -> State:
        """How it ended, and if that is well, whether its result is valid."""
        if self.status != "done" or self.valid is None:
            return self.status
        return "valid" if self.valid else "not-valid"

    def age(self, now: datetime | None = None) -> timedelta:
        """Return the time since the run began."""
        return (now or datetime.now(UTC)) - datetime.fromisoformat(self.started_at)


class RunFilter(Struct, frozen=True, kw_only=True):
    """Which runs are meant; what is empty or None selects all.

    ``names`` are parts of the name of the run, or of the study or search that made it.
    """

    names: Sequence[str] = ()
    tags: Sequence[tuple[str, str]] = ()
    workload: str | None = None
    state: State | None = None
    made_for: MadeFor | None = None
    age_max: timedelta | None = None

    def admits(self, run: RunSummary) -> bool:
        """Whether this run is one of them."""
        return (
            all(
                name in run.run_id or name in run.tags.get(run.made_for or "", "")
                for name in self.names
            )
            and set(self.tags) <= run.tags.items()
            and self.workload in (None, run.workload)
            and self.state in (None, run.state)
            and self.made_for in (None, run.made_for or _OF_NOTHING)
            and (self.age_max is None or run.age() <= self.age_max)
        )


class _Indexed(Struct, array_like=True):
    stamp: Stamp
    summary: RunSummary


class _Index(Struct, array_like=True):
    """The summaries by run; ``columns`` are those of the version that made the index."""

    columns: tuple[str, ...]
    runs: dict[str, _Indexed]


_COLUMNS = RunSummary.__struct_fields__


def list_runs(home: Path | None = None) -> list[RunSummary]:
    """Return all runs that can be read, newest first."""
    runs = runs_folder(home)
    known = _read_index(runs / _INDEX)
    found: dict[str, _Indexed] = {}
    for name, stamp in record_stamps(home).items():
        indexed = known.get(name)
        if indexed is None or indexed.stamp != stamp:
            try:
                record = read_record(runs / name)
            except StoreError as error:
                leave_out(runs / name, error)
                continue
            try:
                plan = convert(read_json(runs / name / PLAN), _Plan)
            except (StoreError, ValidationError):
                plan = _Plan()  # a damaged plan does not hide the run
            indexed = _Indexed(stamp, _summary(record, plan))
        found[name] = indexed
    ended = {name: its for name, its in found.items() if its.summary.status != "running"}
    if ended != known:
        with suppress(OSError, UnicodeEncodeError):  # a home that may only be read, or odd names
            replace_bytes(runs / _INDEX, encode(_Index(_COLUMNS, ended)))
    return [indexed.summary for indexed in reversed(found.values())]


def _read_index(path: Path) -> dict[str, _Indexed]:
    """Return the index; empty if there is none, or one of another version."""
    try:
        index = decode(path.read_bytes(), type=_Index)
    except (OSError, MsgspecError, UnicodeDecodeError):
        return {}
    return index.runs if index.columns == _COLUMNS else {}


class _Stage(Struct):
    rate_tps: float | None = None


class _Plan(Struct):
    """What the list shows of a plan."""

    clients: int | None = None
    threads: int | None = None
    variables: dict[str, Scalar] = {}
    arrivals: dict[str, Any] = {}
    query_mode: str | None = None
    stages: list[_Stage] = []


def _summary(record: RunRecord, plan: _Plan) -> RunSummary:
    counts, throughput, response = record.transactions, record.throughput_tps, record.response_ms
    told = record.imported
    if told:
        plan = _Plan(
            clients=told.clients,
            threads=told.threads,
            variables={} if told.scale is None else {"scale": told.scale},
            arrivals={told.loop: {}} if told.loop else {},
            query_mode=told.query_mode,
            stages=[_Stage(told.rate_tps)],
        )
    scale, rates = plan.variables.get("scale"), {stage.rate_tps for stage in plan.stages}
    wal = (one.value for one in record.costs if one.id == "wal_bytes" and not one.script)
    return RunSummary(
        run_id=record.run_id,
        status=record.status,
        started_at=record.started_at,
        workload=record.workload,
        command=told.command if told else shlex.join(record.command),
        target=record.target,
        product=record.server.get("product"),
        version=record.server.get("version"),
        promise=record.server.get("promise"),
        tool=told.tool if told else None,
        clients=plan.clients,
        threads=plan.threads,
        scale=scale if isinstance(scale, int) else None,
        loop=next(iter(plan.arrivals), None),
        rate_tps=rates.pop() if len(rates) == 1 else None,
        query_mode=plan.query_mode,
        valid=record.valid,
        duration_s=record.duration_s,
        ok=getattr(counts, "ok", None),
        committed=getattr(counts, "committed", None),
        failed=getattr(counts, "failed", None),
        retried=getattr(counts, "retried", None),
        tps=getattr(throughput, "value", None),
        tps_low=getattr(throughput, "low", None),
        tps_high=getattr(throughput, "high", None),
        nopm=getattr(record.nopm, "value", None),
        mqth=getattr(record.mqth, "value", None),
        queries_per_hour=getattr(record.queries_per_hour, "value", None),
        copy_in_rows_per_s=getattr(record.copy_in, "rows_per_s", None),
        copy_in_bytes_per_s=getattr(record.copy_in, "bytes_per_s", None),
        copy_out_rows_per_s=getattr(record.copy_out, "rows_per_s", None),
        copy_out_bytes_per_s=getattr(record.copy_out, "bytes_per_s", None),
        **{f"{name}_ms": getattr(response, name, None) for name in _OF_RESPONSES},
        server_cpu_us=record.server.get("cpu_us_per_transaction"),
        engine_cpu_us=getattr(record.client, "cpu_us_per_transaction", None),
        wal_bytes=next(wal, None),
        made_for=next((name for name in MADE_FOR if name in record.tags), None),
        tags=record.tags,
    )
