"""Made-up runs in a home, for commands that only read records."""

import itertools
import math
from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np

from dbdyno.model.record import RunRecord
from dbdyno.store.writer import RunWriter
from tests.store import synthetic
from tests.support.numbers import latency, throughput, wal

_MINUTES = itertools.count()
BEGINNING = datetime(2026, 11, 1, tzinfo=UTC)


def run(tps=1000.0, wal_bytes=2000.0, plan=None, **changes) -> str:
    """Stores a run, successful unless ``changes`` say otherwise; returns its id."""
    minute = next(_MINUTES)
    known = {
        "status": "done",
        "valid": True,
        "started_at": (BEGINNING + timedelta(minutes=minute)).isoformat(),
        "duration_s": 30.0,
        "command": ["tpcb", "--clients", "8"],
        "throughput_tps": throughput(tps),
        "response_ms": latency(8000 / tps),
        "costs": [wal(wal_bytes, wal_bytes * 0.99, wal_bytes * 1.01)],
        "server": {"kind": "private", "product": "postgres", "version": "18.1", "promise": "full"},
    }
    record: RunRecord = synthetic.record(**(known | changes))
    with RunWriter(record, plan or synthetic.plan()) as writer:
        writer.write_host({"name": "vm"})
        writer.write_server({"settings": []})
        if record.status != "running":
            synthetic.finish(writer, msgspec.structs.replace(record, run_id=writer.run_id))
        return writer.run_id


def pairs(count, tps=1.0, wal_bytes=1.0, noise=0.05, seed=1, **changes):
    """Runs tagged ``variant=a`` and ``variant=b``; ``tps`` and ``wal_bytes`` are b's over a's."""
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
