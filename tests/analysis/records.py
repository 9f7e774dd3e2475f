"""Made-up run records, with only the fields that comparisons read."""

from msgspec.structs import replace

from dbdyno.model.record import RunRecord
from tests.support.numbers import cost, latency, throughput


def record(tps=None, *, p95_ms=None, costs=None, tags=None, started_at="2026-01-01T00:00:00+00:00"):
    """A run with these numbers; a cost is a value, or (value, low, high)."""
    return RunRecord(
        run_id="made",
        status="done",
        started_at=started_at,
        workload="tpcb",
        target="made",
        seed=1,
        tags=tags or {},
        valid=True,
        throughput_tps=throughput(tps) if tps is not None else None,
        response_ms=_latency(p95_ms) if p95_ms is not None else None,
        costs=[cost(name, *_numbers(value)) for name, value in (costs or {}).items()],
    )


def _numbers(value):
    return value if isinstance(value, tuple) else (value,)


def _latency(p95_ms):
    return replace(latency(p95_ms / 3), p95=p95_ms)


def records(tps):
    return [record(one) for one in tps]
