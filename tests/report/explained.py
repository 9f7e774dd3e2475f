"""What telemetry and explanation add to the synthetic run: TPC-B whose clients queue for rows,
with checkpoints, a vacuum and a source that could not be read.
"""

import numpy as np

from dbdyno.model.record import CostRecord, Finding, UnevaluatedRule
from dbdyno.model.telemetry import BlockCount, WaitCount
from tests.support.recordings import MadeRun

TELLERS, BRANCHES, INSERT, END = 3, 4, 5, 6
SEEN_TABLES = ("samples", "counters", "levels", "waits", "blocking", "log_entries", "lacks")

FINDINGS = [
    Finding(
        id="row_lock_convoy",
        title="Row-lock convoy on pgbench_branches",
        severity="critical",
        summary="Clients queue for the one row of pgbench_branches: 61 % of their time is spent "
        "waiting for a row lock.",
        evidence={"bound_tps": 1480},
        seen=["4.9 of 8 clients waited for a row lock on average.", "The row was held 675 µs."],
        why="A row that every transaction holds for 675 µs bounds them at 1 480 a second.",
        share=0.61,
        share_of="client time",
        certainty="sure",
        advice=[
            "Update pgbench_branches last, just before the commit.",
            "Use `-c 4`: more clients than this only queue.",
        ],
        gain="At most 1.3 times the throughput.",
        refute="dbdyno run tpcb -s 50 -c 8 -T 60",
        wrong_when="The lock is held by a session that is none of the run's clients.",
    ),
    Finding(
        id="full_page_writes",
        title="Full-page writes after each checkpoint",
        severity="minor",
        summary="Whole pages are 44 % of the WAL.",
        evidence={},
        share=0.07,
        share_of="lost throughput",
        certainty="likely",
        advice=["Let checkpoints be rarer: `--set max_wal_size=8GB`."],
        refute="Run again with `--set full_page_writes=off`: the dips must be gone.",
    ),
    Finding(
        id="cpu_server",
        title="The server's CPU is busy with the workload",
        severity="note",
        summary="The server used 1.4 of 2 cores.",
        evidence={},
    ),
]
NOT_LOOKED = [
    UnevaluatedRule(
        id="temporary_files", title="Temporary files", reason="pg_stat_database was not read"
    )
]


def cost(name, title, unit, side, *, value, spread=0.02, script=""):
    low, high = value * (1 - spread), value * (1 + spread)
    return CostRecord(
        id=name, title=title, unit=unit, side=side, value=value, low=low, high=high, script=script
    )


FUNCTIONS = {
    ("indexes", "_bt_compare"): 9.0,
    ("rows", "heap_hot_search_buffer"): 6.0,
    ("rows", "heap_fetch"): 3.0,
    ("memory", "pfree"): 2.0,
    ("memory", "palloc"): 2.0,
}
"""Microseconds per transaction."""

COSTS = [
    cost("server_cpu_us", "Server CPU", "µs", "server", value=612.0),
    cost("engine_cpu_us", "Engine CPU", "µs", "client", value=31.4),
    cost("wal_bytes", "WAL", "B", "server", value=1312.0),
    cost("buffers_hit", "Buffers hit", "buffers", "server", value=38.2),
    cost("round_trips", "Round trips", "", "network", value=7.0, spread=0),
]


def clients(statement, wait_type, wait_event, count):
    return WaitCount("client", statement, "asking", "active", wait_type, wait_event, count)


def queued(waiter, blocker, relation, *, count, waited_s):
    """Waits for a client that commits, directly or through another waiter."""
    return BlockCount(
        "client",
        waiter,
        "client",
        blocker,
        "client",
        END,
        "active",
        "WalSync",
        "transactionid",
        "ShareLock",
        relation,
        "(0,3)",
        1 if blocker == END else 2,
        count,
        waited_s,
    )


def seen(seconds=60):
    """The tables of a run with telemetry: two session samples a second."""
    made = MadeRun(seconds=seconds, clients=8)
    rng = np.random.default_rng(5)
    for half in range(2 * seconds):
        behind = int(rng.integers(2, 5))
        made.look(
            half / 2,
            [
                clients(BRANCHES, "Lock", "transactionid", behind),
                clients(TELLERS, "Lock", "transactionid", 5 - behind),
                clients(END, "IO" if half % 8 == 0 else "LWLock", "WalSync", 1),
                clients(1, "", "", 1),
                WaitCount("client", -1, "idle", "idle", "Client", "ClientRead", 1),
            ],
            [
                queued(
                    BRANCHES, END, "pgbench_branches", count=behind - 1, waited_s=0.004 * behind
                ),
                queued(BRANCHES, BRANCHES, "pgbench_branches", count=1, waited_s=0.002),
                queued(TELLERS, BRANCHES, "pgbench_tellers", count=5 - behind, waited_s=0.009),
            ],
        )
    for begin in (9.0, 34.0):
        made.log(begin, "checkpoint_start", "checkpoint starting: wal", reason="wal")
        made.log(
            begin + 9,
            "checkpoint_end",
            "checkpoint complete",
            reason="wal",
            write_s=7.5,
            sync_s=1.2,
            total_s=9.0,
            buffers_written=1803.0,
        )
    made.log(
        22.0, "autovacuum", "automatic vacuum of pgbench_tellers", elapsed_s=0.4, table="tellers"
    )
    made.lack("pg_stat_io", "PostgreSQL 15 has no such view; it came with 16")
    tables = made.loaded().columns
    return {name: tables[name] for name in SEEN_TABLES}
