"""The whole text report as people read it."""

import msgspec
from inline_snapshot import snapshot

from dbdyno.model.record import (
    ClientCost,
    FailureRecord,
    Latency,
    StageRecord,
    StatementRecord,
    Throughput,
    TransactionCounts,
)
from dbdyno.report.pages.run import render_summary
from tests.report import explained
from tests.store import synthetic

RESPONSE = Latency(
    mean=1.48, p50=1.31, p90=1.95, p95=2.45, p99=4.83, p999=10.4, p9999=26.8, max=1072.1
)
SERVICE = msgspec.structs.replace(RESPONSE, mean=1.2, p99=2.6)
RECORD = synthetic.record(
    run_id="20261120-214203-tpcb-3f2a",
    status="done",
    target="postgresql://postgres@db.example:5432/postgres",
    valid=True,
    duration_s=60.0,
    transactions=TransactionCounts(ok=83912, failed=18, skipped=0, unfinished=2, retried=36),
    failures=[
        FailureRecord(
            failure_class="deadlock",
            code="40P01",
            count=3,
            message="deadlock detected",
            statement=synthetic.SQL[4],
        ),
        FailureRecord(
            failure_class="lock_timeout",
            code="55P03",
            count=15,
            message="canceling statement\ndue to lock \x1b[31mtimeout" + "!" * 90,
        ),
    ],
    tried_again=[
        FailureRecord(
            failure_class="serialization", code="40001", count=36, message="could not serialize"
        ),
    ],
    throughput_tps=Throughput(
        value=1398.5,
        low=1375.2,
        high=1421.9,
        min=661,
        max=1603,
        samples=60,
        samples_effective=21.3,
        coefficient_of_variation=0.16,
    ),
    response_ms=RESPONSE,
    service_ms=RESPONSE,
    statements=[
        StatementRecord(
            script="tpcb",
            index=index,
            sql=sql,
            count=83912,
            rows=83912 * index // 3,
            executions_without_rows=0,
            mean_ms=0.1 * index,
            p50_ms=0.09 * index,
            p95_ms=0.3 * index,
            p99_ms=0.4 * index,
        )
        for index, sql in enumerate(synthetic.SQL, 1)
    ],
    client=ClientCost(cpu_us_per_transaction=128.7),
    command=["tpcb", "--scale", "50", "--clients", "8"],
    doubts=["coarse: throughput is known only to ±8% within this run; run longer"],
)


PLAN = msgspec.structs.replace(
    synthetic.plan(), latency_limit_ns=20_000_000, variables={"scale": 50}
)


RESPONSE_ROW = "response  1.48 ms  1.31 ms  1.95 ms  2.45 ms  4.83 ms  10.4 ms  26.8 ms  1.07 s"


def changed(**changes):
    return msgspec.structs.replace(RECORD, **changes)


def test_a_closed_loop_run():
    assert render_summary(RECORD, PLAN) == snapshot("""\
tpcb on postgresql://postgres@db.example:5432/postgres, 60 s measured
  8 clients, 2 threads, closed loop, query mode prepared, latency limit 20 ms, scale 50
  dbdyno run tpcb --scale 50 --clients 8

throughput    1 398 TPS
              1 375 to 1 422: 95 % interval within this run (60 samples, effective sample size 21)
              measurement intervals: 661 to 1 603 TPS
transactions  83 912 ok, 18 failed, 2 unfinished, 36 retried
client CPU    129 µs per transaction

latency      mean      p50      p90      p95      p99    p99.9   p99.99     max
response  1.48 ms  1.31 ms  1.95 ms  2.45 ms  4.83 ms  10.4 ms  26.8 ms  1.07 s

    ok   rows    mean     p50     p95     p99  statement
83 912  0.333  100 µs   90 µs  300 µs  400 µs  BEGIN;
83 912  0.667  200 µs  180 µs  600 µs  800 µs  UPDATE pgbench_accounts SET abalance = abalance + :d…
83 912      1  300 µs  270 µs  900 µs  1.2 ms  SELECT abalance FROM pgbench_accounts WHERE aid = :a…
83 912   1.33  400 µs  360 µs  1.2 ms  1.6 ms  UPDATE pgbench_tellers SET tbalance = tbalance + :de…
83 912   1.67  500 µs  450 µs  1.5 ms    2 ms  UPDATE pgbench_branches SET bbalance = bbalance + :d…
83 912      2  600 µs  540 µs  1.8 ms  2.4 ms  INSERT INTO pgbench_history (tid, bid, aid, delta, m…
83 912   2.33  700 µs  630 µs  2.1 ms  2.8 ms  END;

failures      code   count  first message
lock timeout  55P03     15  canceling statement due to lock [31mtimeout!!!!!!!!!!!!!!!!!!!!!!!!!!!!…
deadlock      40P01      3  UPDATE pgbench_branches: deadlock detected

retried        code   count  first message
serialization  40001     36  could not serialize

Valid.
Doubts:
  - Coarse: throughput is known only to ±8% within this run; run longer.
""")


def test_an_open_loop_run_that_is_not_valid():
    record = changed(
        service_ms=SERVICE,
        statements=[],
        failures=[],
        doubts=[],
        valid=False,
        invalid_reasons=["the generator was the bottleneck"],
    )
    assert render_summary(record, PLAN) == snapshot("""\
tpcb on postgresql://postgres@db.example:5432/postgres, 60 s measured
  8 clients, 2 threads, closed loop, query mode prepared, latency limit 20 ms, scale 50
  dbdyno run tpcb --scale 50 --clients 8

Not valid: do not use these results.
  - The generator was the bottleneck.

throughput    1 398 TPS
              1 375 to 1 422: 95 % interval within this run (60 samples, effective sample size 21)
              measurement intervals: 661 to 1 603 TPS
transactions  83 912 ok, 18 failed, 2 unfinished, 36 retried
client CPU    129 µs per transaction

latency      mean      p50      p90      p95      p99    p99.9   p99.99     max
response  1.48 ms  1.31 ms  1.95 ms  2.45 ms  4.83 ms  10.4 ms  26.8 ms  1.07 s
service    1.2 ms  1.31 ms  1.95 ms  2.45 ms   2.6 ms  10.4 ms  26.8 ms  1.07 s

retried        code   count  first message
serialization  40001     36  could not serialize
""")


def test_a_run_that_never_began():
    record = synthetic.record(status="failed", target="dbname=shop")
    assert render_summary(record, PLAN) == snapshot("""\
tpcb on dbname=shop
  8 clients, 2 threads, closed loop, query mode prepared, latency limit 20 ms, scale 50

The run failed: these are the results until then.
""")


def test_statements_of_which_no_time_is_known_are_not_listed():
    empty = [
        msgspec.structs.replace(one, count=0, mean_ms=None, p50_ms=None, p95_ms=None, p99_ms=None)
        for one in RECORD.statements
    ]
    assert "  statement\n" in render_summary(RECORD, PLAN)
    assert "  statement\n" not in render_summary(changed(statements=empty, response_ms=None), PLAN)


def test_an_explained_run_shows_its_costs_and_what_limits_it():
    record = changed(
        statements=[],
        failures=[],
        doubts=[],
        costs=explained.COSTS,
        findings=explained.FINDINGS,
        not_looked=explained.NOT_LOOKED,
    )
    assert render_summary(record, PLAN) == snapshot("""\
tpcb on postgresql://postgres@db.example:5432/postgres, 60 s measured
  8 clients, 2 threads, closed loop, query mode prepared, latency limit 20 ms, scale 50
  dbdyno run tpcb --scale 50 --clients 8

throughput    1 398 TPS
              1 375 to 1 422: 95 % interval within this run (60 samples, effective sample size 21)
              measurement intervals: 661 to 1 603 TPS
transactions  83 912 ok, 18 failed, 2 unfinished, 36 retried
cost per txn  Server CPU 612 µs, Engine CPU 31.4 µs, WAL 1.28 KiB, Round trips 7

latency      mean      p50      p90      p95      p99    p99.9   p99.99     max
response  1.48 ms  1.31 ms  1.95 ms  2.45 ms  4.83 ms  10.4 ms  26.8 ms  1.07 s

retried        code   count  first message
serialization  40001     36  could not serialize

Valid.

What limits throughput:
critical: Row-lock convoy on pgbench_branches. Clients queue for the one row of pgbench_branches: 61
  % of their time is spent waiting for a row lock.
  try: Update pgbench_branches last, just before the commit.
minor: Full-page writes after each checkpoint. Whole pages are 44 % of the WAL.
  try: Let checkpoints be rarer: `--set max_wal_size=8GB`.
1 more: dbdyno explain 20261120-214203-tpcb-3f2a
1 rule could not look
""")


def test_a_finding_cannot_steer_the_terminal():
    hostile = msgspec.structs.replace(explained.FINDINGS[0], summary="red \x1b[31m")
    assert "\x1b" not in render_summary(changed(findings=[hostile]), PLAN)


def test_no_line_is_wider_than_100():
    record = changed(findings=explained.FINDINGS, costs=explained.COSTS)
    assert max(len(line) for line in render_summary(record, PLAN).splitlines()) <= 100


def stage(clients=None, rate_tps=None, *measured):
    tps, failed_per_s, p50_ms, p99_ms = measured or (None,) * 4
    return StageRecord(
        duration_s=30,
        clients=clients,
        rate_tps=rate_tps,
        tps=tps,
        failed_per_s=failed_per_s,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
    )


def test_each_stage_of_a_changing_load_stands_for_itself():
    """Including one that the run did not reach."""
    clients = [stage(1, None, 1000.0, 0.0, 0.9, 1.25), stage(64, None, 21000.0, 0.5, 3.0, 40.0)]
    assert f"""{RESPONSE_ROW}

stage  duration  load           TPS     p50      p99
1      30 s      1 client     1 000  900 µs  1.25 ms
2      30 s      64 clients  21 000    3 ms    40 ms
p50 and p99 of a stage: median over its measurement intervals

""" in render_summary(changed(stages=clients), PLAN)
    rates = [stage(None, 500.0, 500.2, 0.0, 0.9, 1.25), stage(None, 1000.0)]
    assert """
1      30 s      500 TPS    500  900 µs  1.25 ms
2      30 s      1 000 TPS    –       –        –
""" in render_summary(changed(stages=rates), PLAN)


def test_with_several_scripts_each_statement_names_its_own():
    other = msgspec.structs.replace(RECORD.statements[0], script="other")
    text = render_summary(changed(statements=[RECORD.statements[0], other]), PLAN)
    assert "  tpcb: BEGIN;\n" in text
    assert "  other: BEGIN;\n" in text
