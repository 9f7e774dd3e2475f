"""Records of runs that never were: only what runs are compared by."""

from dbdyno.model.record import CostRecord, Latency, RunRecord, Throughput


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
        response_ms=latency(p95_ms) if p95_ms is not None else None,
        costs=[cost(name, *numbers(value)) for name, value in (costs or {}).items()],
    )


def numbers(value):
    return value if isinstance(value, tuple) else (value, None, None)


def throughput(tps):
    return Throughput(
        value=tps,
        low=tps * 0.99,
        high=tps * 1.01,
        min=tps * 0.9,
        max=tps * 1.1,
        samples=30,
        samples_effective=30.0,
        coefficient_of_variation=0.05,
    )


def latency(p95_ms):
    return Latency(
        mean=p95_ms / 2,
        p50=p95_ms / 2,
        p90=p95_ms,
        p95=p95_ms,
        p99=p95_ms * 2,
        p999=p95_ms * 4,
        p9999=p95_ms * 8,
        max=p95_ms * 8,
    )


def cost(name, value, low, high):
    return CostRecord(
        id=name, title=name, unit="bytes", side="server", value=value, low=low, high=high
    )


def records(tps):
    return [record(one) for one in tps]
