"""The list of runs: one line each, from plan and record, without reading a table."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct, ValidationError, convert

from dbdyno.model.record import RunRecord, Status
from dbdyno.store.errors import StoreError, leave_out
from dbdyno.store.files import read_json
from dbdyno.store.listing import run_folders
from dbdyno.store.places import PLAN
from dbdyno.store.record import read_record

_OF_RESPONSES = ("mean", "p50", "p95", "p99", "p999", "max")


class RunSummary(Struct, frozen=True, kw_only=True):
    """The data by which users choose runs: their conditions and main results.

    ``rate_tps`` is set for runs with a single rate; ``p999_ms`` and the like are response times.
    """

    run_id: str
    status: Status
    started_at: str
    workload: str
    target: str
    product: str | None
    version: str | None
    promise: str | None
    clients: int | None
    rate_tps: float | None
    query_mode: str | None
    valid: bool | None
    duration_s: float | None
    ok: int | None
    failed: int | None
    retried: int | None
    tps: float | None
    tps_low: float | None
    tps_high: float | None
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    max_ms: float | None
    server_cpu_us: float | None
    engine_cpu_us: float | None
    tags: dict[str, str]

    def age(self, now: datetime | None = None) -> timedelta:
        """Return the time since the run began."""
        return (now or datetime.now(UTC)) - datetime.fromisoformat(self.started_at)


def list_runs(home: Path | None = None) -> list[RunSummary]:
    """Return all runs that can be read, newest first."""
    return [_summary(record, _plan(folder)) for folder, record in reversed(_readable(home))]


def read_records(home: Path | None = None) -> list[RunRecord]:
    """Return the records of all runs that can be read, oldest first."""
    return [record for _, record in _readable(home)]


def _readable(home: Path | None) -> list[tuple[Path, RunRecord]]:
    found = []
    for folder in run_folders(home):
        try:
            found.append((folder, read_record(folder)))
        except StoreError as error:
            leave_out(folder, error)
    return found


class _Stage(Struct):
    rate_tps: float | None = None


class _Plan(Struct):
    """What the list shows of a plan."""

    clients: int | None = None
    query_mode: str | None = None
    stages: list[_Stage] = []


def _summary(record: RunRecord, plan: _Plan) -> RunSummary:
    counts, throughput, response = record.transactions, record.throughput_tps, record.response_ms
    return RunSummary(
        run_id=record.run_id,
        status=record.status,
        started_at=record.started_at,
        workload=record.workload,
        target=record.target,
        product=record.server.get("product"),
        version=record.server.get("version"),
        promise=record.server.get("promise"),
        clients=plan.clients,
        rate_tps=_rate_tps(plan),
        query_mode=plan.query_mode,
        valid=record.valid,
        duration_s=record.duration_s,
        ok=getattr(counts, "ok", None),
        failed=getattr(counts, "failed", None),
        retried=getattr(counts, "retried", None),
        tps=getattr(throughput, "value", None),
        tps_low=getattr(throughput, "low", None),
        tps_high=getattr(throughput, "high", None),
        **{f"{name}_ms": getattr(response, name, None) for name in _OF_RESPONSES},
        server_cpu_us=record.server.get("cpu_us_per_transaction"),
        engine_cpu_us=getattr(record.client, "cpu_us_per_transaction", None),
        tags=record.tags,
    )


def _plan(folder: Path) -> _Plan:
    """Return the plan; a damaged file yields an empty one and does not hide the run."""
    try:
        return convert(read_json(folder / PLAN), _Plan)
    except (StoreError, ValidationError):
        return _Plan()


def _rate_tps(plan: _Plan) -> float | None:
    rates = {stage.rate_tps for stage in plan.stages}
    return rates.pop() if len(rates) == 1 else None
