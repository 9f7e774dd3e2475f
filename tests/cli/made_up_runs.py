"""Runs that never were, kept in a home: for commands that read records and nothing else."""

import itertools
import math
from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np

from dbdyno.model.record import CostRecord, Latency, RunRecord, Throughput
from dbdyno.store import RunWriter
from tests.store import synthetic

_MINUTES = itertools.count()
BEGINNING = datetime(2026, 11, 1, tzinfo=UTC)


def throughput(tps):
    return Throughput(
        value=tps,
        low=tps * 0.98,
        high=tps * 1.02,
        min=tps * 0.9,
        max=tps * 1.1,
        samples=30,
        samples_effective=20.0,
        coefficient_of_variation=0.05,
    )


def latency(ms):
    return Latency(
        mean=ms, p50=ms * 0.8, p90=ms * 2, p95=ms * 3, p99=ms * 5, p999=ms * 9, p9999=ms * 20,
        max=ms * 40,
    )  # fmt: skip


def wal(value):
    return CostRecord(
        id="wal_bytes",
        title="WAL",
        unit="B",
        side="server",
        value=value,
        low=value * 0.99,
        high=value * 1.01,
    )


def run(tps=1000.0, wal_bytes=2000.0, plan=None, **changes) -> str:
    """Keeps a run that ended well unless told otherwise; its id."""
    minute = next(_MINUTES)
    known = {
        "status": "done",
        "valid": True,
        "started_at": (BEGINNING + timedelta(minutes=minute)).isoformat(),
        "duration_s": 30.0,
        "command": ["tpcb", "--clients", "8"],
        "throughput_tps": throughput(tps),
        "response_ms": latency(8000 / tps),
        "costs": [wal(wal_bytes)],
        "server": {"kind": "private", "product": "postgres", "version": "18.1", "promise": "full"},
    }
    record: RunRecord = synthetic.record(**(known | changes))
    with RunWriter(record, plan or synthetic.plan()) as writer:
        writer.write_host({"name": "vm"})
        writer.write_server({"settings": []})
        if record.status != "running":
            writer.finish(msgspec.structs.replace(record, run_id=writer.run_id))
        return writer.run_id


def pairs(count, tps=1.0, wal_bytes=1.0, noise=0.05, seed=1, **changes):
    """Runs tagged ``variant=a`` and ``variant=b``, b with so many times the numbers of a."""
    chance = np.random.default_rng(seed)
    for pair in range(1, count + 1):
        drift, own = math.exp(chance.normal(0, 0.1)), np.exp(chance.normal(0, noise, 2)).tolist()
        for variant, factor, luck in (("a", 1.0, own[0]), ("b", tps, own[1])):
            run(
                tps=1000 * factor * drift * luck,
                wal_bytes=2000 * (1.0 if variant == "a" else wal_bytes) * own[0] ** 0.02,
                tags={"variant": variant, "pair": str(pair)},
                **changes,
            )
