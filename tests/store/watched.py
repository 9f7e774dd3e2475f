"""Made-up frames of telemetry, in the shape of a real run of TPC-B: which sources there
are, how many numbers each has, and how much they scatter.
"""

from collections.abc import Iterator

import msgspec
import numpy as np

from dbdyno.model.telemetry import (
    BlockCount,
    Counts,
    Lack,
    LogEntry,
    TelemetryCost,
    WaitCount,
    Waits,
)

SECOND_NS = 10**9
TABLES = tuple(f"pgbench_{name}" for name in ("accounts", "branches", "tellers", "history"))

# Source: its objects, the counters of each that grow in a second, and the levels that change.
SOURCES: dict[str, tuple[tuple[str, ...], int, int]] = {
    "pg_stat_database": (("",), 9, 0),
    "pg_stat_wal": (("",), 7, 0),
    "pg_stat_bgwriter": (("",), 2, 0),
    "pg_stat_checkpointer": (("",), 1, 0),
    "wal_position": (("",), 1, 0),
    "pg_stat_user_tables": (TABLES, 3, 2),
    "pg_statio_user_tables": (TABLES, 2, 0),
    "pg_stat_user_indexes": (TABLES[:3], 2, 0),
    "sessions": (("",), 0, 4),
    "progress": ((), 0, 0),
    "replication": ((), 0, 0),
    "machine": (("",), 6, 2),
    "processes": (("server", "engine", "dbdyno"), 4, 1),
    "process_io": (("server",), 2, 0),
    "busiest": (("python/4711",), 1, 0),
    "disk": (("vda",), 8, 0),
    "pressure": (("cpu", "io"), 2, 0),
    "control_group": (("server", "engine"), 1, 0),
    "memory": (("",), 0, 4),
    "network": (("lo",), 0, 0),
}


def frames(seconds: int, seed: int = 7, begin_ns: int = 5 * SECOND_NS) -> Iterator[bytes]:
    """The frames of basic telemetry: numbers once a second, sessions twice."""
    chance = np.random.default_rng(seed)
    for second in range(1, seconds + 1):
        at_ns = begin_ns + second * SECOND_NS
        for source in SOURCES:
            yield msgspec.msgpack.encode(_counts(chance, source, at_ns))
        yield msgspec.msgpack.encode(_waits(chance, at_ns))
        yield msgspec.msgpack.encode(_waits(chance, at_ns + SECOND_NS // 2))
    yield msgspec.msgpack.encode(LogEntry(at_ns, "checkpoint_end", "LOG", "done", {"sync_s": 0.2}))
    yield msgspec.msgpack.encode(Lack(at_ns, "memory_nodes", "this machine has one"))
    yield msgspec.msgpack.encode(TelemetryCost("basic", seconds, 100, None, 2 * seconds, 2.0, 2.0))


def _counts(chance: np.random.Generator, source: str, at_ns: int) -> Counts:
    objects, grown, changed = SOURCES[source]
    late_ns, cost_us = chance.integers(1, 50_000_000), chance.integers(100, 5000)
    return Counts(
        at_ns=int(at_ns + late_ns),
        source=source,
        seconds=float(1 + chance.normal(0, 0.01)),
        cost_us=int(cost_us),
        deltas=_numbers(chance, objects, "counted", grown),
        levels=_numbers(chance, objects, "level", changed),
    )


def _numbers(
    chance: np.random.Generator, objects: tuple[str, ...], name: str, count: int
) -> list[tuple[str, str, float]]:
    return [
        (of, f"{name}_{number}", int(chance.lognormal(6 + number, 0.3)))
        for of in objects
        for number in range(count)
    ]


def _waits(chance: np.random.Generator, at_ns: int) -> Waits:
    waits = [
        WaitCount("client", 3 + n % 2, "asking", "active", *event, int(chance.integers(1, 9)))
        for n, event in enumerate(
            [("Lock", "transactionid"), ("Lock", "tuple"), ("", ""), ("IO", "WALSync")]
        )
    ]
    idle = [
        WaitCount(who, -1, "", "", "Activity", f"{who} main", 1)
        for who in ("checkpointer", "background writer", "walwriter", "autovacuum launcher")
    ]
    return Waits(at_ns, 0.5, int(chance.integers(500, 5000)), waits + idle, _blocking(chance), 0.5)


def _blocking(chance: np.random.Generator) -> list[BlockCount]:
    return [
        BlockCount(
            *("client", 3, "client", 4, "client", 4, "active", "WALSync", "tuple", "Exclusive"),
            *(f"pgbench_{table}", f"({chance.integers(20)},{chance.integers(200)})", depth, 2),
            float(chance.exponential(0.01)),
        )
        for depth, table in enumerate(("branches", "tellers", "tellers", "tellers", "tellers"), 1)
    ]
