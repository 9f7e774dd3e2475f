"""The list of runs: one line each, from the records alone."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct

from dbdyno.model.record import RunRecord, Status
from dbdyno.store.errors import StoreError, leave_out
from dbdyno.store.listing import run_folders
from dbdyno.store.run import read_record


class RunSummary(Struct, frozen=True, kw_only=True):
    """What ``dbdyno runs`` shows of a run."""

    run_id: str
    status: Status
    started_at: str
    workload: str
    target: str
    product: str | None
    version: str | None
    valid: bool | None
    duration_s: float | None
    tps: float | None
    p99_ms: float | None
    tags: dict[str, str]

    def age(self, now: datetime | None = None) -> timedelta:
        """How long ago it began."""
        return (now or datetime.now(UTC)) - datetime.fromisoformat(self.started_at)


def list_runs(home: Path | None = None) -> list[RunSummary]:
    """All runs that can be read, newest first."""
    return [_summary(record) for record in reversed(read_records(home))]


def read_records(home: Path | None = None) -> list[RunRecord]:
    """The records of all runs that can be read, oldest first."""
    records = [_readable(folder) for folder in run_folders(home)]
    return [record for record in records if record]


def _readable(folder: Path) -> RunRecord | None:
    try:
        return read_record(folder)
    except StoreError as error:
        leave_out(folder, error)
        return None


def _summary(record: RunRecord) -> RunSummary:
    return RunSummary(
        run_id=record.run_id,
        status=record.status,
        started_at=record.started_at,
        workload=record.workload,
        target=record.target,
        product=record.server.get("product"),
        version=record.server.get("version"),
        valid=record.valid,
        duration_s=record.duration_s,
        tps=record.throughput_tps.value if record.throughput_tps else None,
        p99_ms=record.response_ms.p99 if record.response_ms else None,
        tags=record.tags,
    )
