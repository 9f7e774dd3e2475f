"""pgbench's TPC-B at scale 1 as made-up samples: how many clients wait at each place."""

from dbdyno.model.telemetry import BlockCount, ServerFacts, TableFacts, WaitCount
from tests.support.recordings import MadeRun

SQL = (
    "BEGIN;",
    "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;",
    "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;",
    "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;",
    "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;",
    "INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (:tid, :bid, :aid, :delta);",
    "END;",
)
ACCOUNTS, TELLERS, BRANCHES, INSERT, END = 1, 3, 4, 5, 6
RELATIONS = {TELLERS: "pgbench_tellers", BRANCHES: "pgbench_branches"}
SECONDS = 20


def table(name, rows):
    return TableFacts(
        name=name,
        rows=rows,
        bytes=8192,
        pages=1,
        fillfactor=100,
        row_bytes=100,
        columns=("id",),
        indexes=(),
    )


FACTS = ServerFacts(
    settings={"synchronous_commit": "on"},
    tables=(
        table("pgbench_accounts", 100_000),
        table("pgbench_tellers", 10),
        table("pgbench_branches", 1),
    ),
)


def waiting(statement, count, wait_type="Lock", event="transactionid"):
    return WaitCount("client", statement, "asking", "active", wait_type, event, count)


def behind(statement, count, *, blocker=END, root=END, who="client", state="active", wait=""):
    """``count`` clients at a statement behind a blocker; ``root`` is at the end of its chain."""
    return BlockCount(
        "client",
        statement,
        who,
        blocker,
        who,
        root,
        state,
        wait,
        "transactionid",
        "ShareLock",
        RELATIONS[statement],
        "(0,1)",
        1,
        count,
        None,
    )


def tpcb(clients, waits, blocking=(), *, tps=1500, facts=FACTS):
    """Statements take 0.1 ms, except those with a queue and the commit, which takes 0.3 ms."""
    run = MadeRun(tps, clients=clients, seconds=SECONDS, response_ms=clients / tps * 1e3)
    for number, sql in enumerate(SQL):
        run.statement(sql)
        run.latency(number, {TELLERS: 4.0, BRANCHES: 6.0, END: 0.3}.get(number, 0.1), count=tps)
    for number in range(1, 2 * SECONDS + 1):
        run.look(number * 0.5, waits, blocking)
    return run.facts(before=facts) if facts else run
