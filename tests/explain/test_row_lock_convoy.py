import dataclasses

import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace

from dbdyno.analysis.summarize import full_record
from dbdyno.explain.locks.row_holds import bound_tps, row_holds
from dbdyno.explain.rule import CouldNotLook, NotFound
from dbdyno.formatting import percent
from dbdyno.model.telemetry import PlanFacts, ServerFacts
from tests.explain.made import facts, in_lua, made_run, table as made_table
from tests.explain.rule_outcomes import outcome_of, text_of
from tests.explain.tpcb import (
    ACCOUNTS,
    BRANCHES,
    END,
    INSERT,
    TELLERS,
    behind,
    table,
    tpcb,
    waiting,
)
from tests.support.recordings import MadeRun, changed

RULE = "row_lock_convoy"


def queue(at_tellers, at_branches, working=1, **named):
    """A working client holds a branch's row; the others wait at the given statements."""
    waits = [
        waiting(TELLERS, at_tellers),
        waiting(BRANCHES, at_branches),
        waiting(BRANCHES, 1, "", ""),
        waiting(END, working, "", ""),
    ]
    blocking = [
        behind(TELLERS, at_tellers, blocker=BRANCHES),
        behind(BRANCHES, at_branches),
    ]
    clients = at_tellers + at_branches + working + 1
    return tpcb(clients, waits, blocking, **named)


def test_more_clients_than_tellers_tellers_shield_branches():
    finding = outcome_of(RULE, queue(6, 8, tps=2000))
    assert finding.title == "Row-lock convoy: pgbench_tellers shields pgbench_branches"
    assert finding.severity == "critical"
    assert finding.share == pytest.approx(14 / 16)
    assert text_of(finding) == snapshot("""\
critical: Row-lock convoy: pgbench_tellers shields pgbench_branches
The 10 rows of pgbench_tellers let at most 10 of 16 clients through to the 1 row
of pgbench_branches (held for 400 µs each time, which allows about 2 500 TPS
(937 to 3 333); measured: 2 000): clients spend 87.5 % of their time waiting for
each other's row locks.
On average 6 clients wait for the 10 rows of pgbench_tellers at “UPDATE
pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;”: 37.5 % of
client time.
On average 8 clients wait for the 1 row of pgbench_branches at “UPDATE
pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;”: 50 % of
client time.
Throughput is 80 % of what the row allows.
""")


def test_as_many_clients_as_tellers_the_queue_is_at_branches():
    finding = outcome_of(RULE, queue(1, 7, tps=2000))
    assert finding.title == "Row-lock convoy on pgbench_branches"
    assert finding.evidence["shield_relation"] is None
    assert text_of(finding) == snapshot("""\
critical: Row-lock convoy on pgbench_branches
Clients queue for the 1 row of pgbench_branches (held for 400 µs each time,
which allows about 2 500 TPS (870 to 3 333); measured: 2 000): they spend 80 %
of their time waiting for each other's row locks.
On average 1 client waits for the 10 rows of pgbench_tellers at “UPDATE
pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;”: 10 % of
client time.
On average 7 clients wait for the 1 row of pgbench_branches at “UPDATE
pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;”: 70 % of
client time.
The 10 rows of pgbench_tellers come first and do not shield pgbench_branches: 10
clients choose 6.51 different ones on average.
Throughput is 80 % of what the row allows.
""")


def test_the_bound_is_that_of_the_branchs_row():
    """Held from after its update to the end: 0.1 ms insert, 0.3 ms commit."""
    holds = row_holds(queue(6, 8, tps=2000).loaded())
    hold_s = (0.1 + 0.3) / 1e3
    assert bound_tps(holds, "pgbench_branches") == pytest.approx(1 / hold_s)
    assert bound_tps(holds, "pgbench_tellers") > bound_tps(holds, "pgbench_branches")


def test_bound_and_budget_together_make_it_sure():
    assert outcome_of(RULE, queue(6, 8, tps=2000)).certainty == "sure"
    assert outcome_of(RULE, queue(6, 8, tps=1000)).certainty == "likely"


def test_without_facts_there_is_a_queue_but_no_bound():
    finding = outcome_of(RULE, queue(9, 5, facts=None))
    assert finding.title == "Row-lock convoy on pgbench_tellers"
    assert finding.evidence["bound_tps"] is None
    assert finding.certainty == "likely"


def test_no_bound_is_claimed_where_holders_pause():
    """A holder that pauses has the row for longer than its statements take."""
    pausing = behind(TELLERS, 12, blocker=-1, root=-1, state="idle in transaction")
    finding = outcome_of(RULE, tpcb(16, [waiting(TELLERS, 12), waiting(END, 1, "", "")], [pausing]))
    assert "allows about" not in finding.summary
    assert finding.certainty == "likely"
    assert finding.seen[-1].startswith("75\u202f% of client time is spent waiting behind clients")
    assert finding.advice[0].startswith("End the transaction before")


def test_a_bound_has_the_error_of_what_clients_cannot_see():
    """It is none that 297 measured can exceed where 289 are allowed: the interval has both."""
    finding = outcome_of(RULE, queue(6, 8, tps=2600))
    low, high = finding.evidence["bound_range_tps"]
    assert low < finding.evidence["bound_tps"] < 2600 < high
    assert high == pytest.approx(1 / 0.3e-3)  # less one round trip: the fastest statement's 0.1 ms
    assert finding.seen[-1].startswith("Throughput is what the row allows, within the error")


def test_no_bound_is_claimed_that_was_exceeded():
    """InnoDB releases a row lock before its redo is on storage."""
    finding = outcome_of(RULE, queue(6, 8, tps=5000))
    assert "allows about" not in finding.summary
    assert "2\u202f500 TPS, but 5\u202f000 were measured" in finding.seen[-1]


def test_no_bound_is_known_where_statements_are_declared_in_any_order():
    """Among them BEGIN and COMMIT, side by side: a hold of nothing would allow any throughput."""
    case = in_lua(queue(6, 8, tps=2000))
    assert {hold.hold_s for hold in row_holds(case)} == {None}
    finding = outcome_of(RULE, case)
    assert "held for" not in finding.summary
    assert finding.evidence["bound_tps"] is None


def test_it_is_known_by_the_transactions_that_were_kept():
    """Tellers shield branches by the order of execution, whatever that of the declarations."""
    run = queue(6, 8, tps=2000).kept(*range(END + 1))
    assert text_of(outcome_of(RULE, in_lua(run))) == text_of(outcome_of(RULE, run))
    turned = queue(6, 8, tps=2000).kept(0, ACCOUNTS, 2, BRANCHES, TELLERS, INSERT, END)
    assert outcome_of(RULE, in_lua(turned)).evidence["shield_relation"] is None


def test_no_hold_is_known_of_statements_whose_latencies_overlap():
    """In a pipeline, each statement's latency has those before it: added up, they are too much."""
    piped = queue(6, 8, tps=2000).kept(*range(END + 1), each_ms=3.0)
    finding = outcome_of(RULE, in_lua(piped))
    assert finding.evidence["bound_tps"] is None
    assert "held for" not in finding.summary


def test_nothing_is_found_without_waits():
    run = tpcb(8, [waiting(ACCOUNTS, 4, "", "")])
    assert isinstance(outcome_of(RULE, run), NotFound)


def test_waits_behind_a_foreign_session_are_not_a_convoy():
    blocking = [
        behind(BRANCHES, 1, who="foreign", blocker=-1, root=-1, state="idle in transaction"),
    ]
    run = tpcb(4, [waiting(BRANCHES, 1)], blocking)
    assert isinstance(outcome_of(RULE, run), NotFound)


def test_could_not_look_without_samples():
    assert isinstance(outcome_of(RULE, MadeRun()), CouldNotLook)


def test_a_row_behind_the_queue_sets_a_bound_even_if_no_waiter_is_sampled():
    """Of five hundred clients, a sample seldom finds one of the few that get past the tellers."""
    run = queue(40, 0, tps=2000).latency(BRANCHES, 0.3, count=2000)
    finding = outcome_of(RULE, run)
    assert finding.title == "Row-lock convoy: pgbench_tellers shields pgbench_branches"
    assert "No client was sampled waiting for the 1 row of pgbench_branches" in " ".join(
        finding.seen
    )


def test_the_few_that_wait_behind_a_long_queue_are_not_said_to_be_none():
    finding = outcome_of(RULE, queue(400, 3, tps=2000).latency(BRANCHES, 0.3, count=2000))
    assert finding.title == "Row-lock convoy: pgbench_tellers shields pgbench_branches"
    assert any("On average 3 clients wait for the 1 row" in line for line in finding.seen)


def test_no_client_waits_for_a_row_where_its_transaction_begins():
    """It has got the row of its last one: a sample of locks is older than that of sessions."""
    run = MadeRun(1000, clients=8, seconds=20, scripts={"write": "", "read": ""})
    update, begin = 0, 1
    run.statement("UPDATE pgbench_tellers SET tbalance = :n WHERE tid = :tid")
    run.statement("BEGIN", script=1).statement("SELECT 1 FROM pgbench_tellers", script=1)
    run.latency(update, 1.0)
    at_both = [replace(behind(TELLERS, 3), waiter=at) for at in (update, begin)]
    for number in range(1, 21):
        run.look(number * 0.5, [waiting(update, 3), waiting(begin, 3)], at_both)
    assert [hold.statement for hold in row_holds(run.loaded())] == [update]


def test_a_waiter_seen_at_another_statement_counts_where_its_row_is_changed():
    at_branches = replace(behind(TELLERS, 3), relation="pgbench_branches")
    run = tpcb(
        16, [waiting(TELLERS, 9), waiting(END, 1, "", "")], [behind(TELLERS, 6), at_branches]
    )
    holds = row_holds(run.loaded())
    assert [(hold.statement, hold.relation) for hold in holds] == [
        (TELLERS, "pgbench_tellers"),
        (BRANCHES, "pgbench_branches"),
    ]


def queue_at(*statements, rows, relation, draws="", **facts):
    """Six of eight wait at the last statement but one for a row of a client that commits."""
    run = MadeRun(1000, clients=8, seconds=20, scripts={"own": "\n".join([draws, *statements])})
    run.facts(before=ServerFacts(tables=(table(relation, rows),), **facts))
    for number, sql in enumerate(statements):
        run.statement(sql).latency(number, 1.0)
    at, last = max(len(statements) - 2, 0), len(statements) - 1
    queued = replace(behind(TELLERS, 6, blocker=last, root=last), waiter=at, relation=relation)
    for number in range(1, 41):
        run.look(number * 0.5, [waiting(at, 6)], [queued])
    return run


@pytest.mark.parametrize(
    ("sql", "relation"),
    [
        ("UPDATE counter# SET n=n+? WHERE id=?", "counter3"),
        ("UPDATE counter SET n = n + :d WHERE id = 1", "counter"),
        ("UPDATE counter SET n = n + :d", "counter"),
        ("UPDATE counter SET n = n + 1 WHERE id BETWEEN :id AND :id + 3", "counter"),
    ],
)
def test_no_bound_is_reported_if_the_number_of_candidate_rows_is_unknown(sql, relation):
    run = queue_at("BEGIN", sql, "COMMIT", rows=10, relation=relation)
    (hold,) = row_holds(run.loaded())
    assert (hold.statement, hold.relation, hold.rows) == (1, relation, None)
    finding = outcome_of(RULE, run)
    assert finding.summary == (
        f"Clients queue for rows of {relation}: they spend {percent(6 / 8)} of their time waiting "
        "for each other's row locks."
    )
    assert "times the rows" not in finding.refute


def test_no_row_is_hot_only_because_a_statement_changes_many():
    sql = "UPDATE counter SET n = n + 1 WHERE kind = :kind"
    run = queue_at("BEGIN", sql, "COMMIT", rows=10_000, relation="counter")
    run.counters("pg_stat_user_tables", {"n_tup_upd": 40_000}, of="counter")
    recording = run.loaded()
    record = full_record(recording)
    timed = [replace(one, count=20_000) for one in record.statements]
    finding = outcome_of(
        RULE, dataclasses.replace(recording, record=replace(record, statements=timed))
    )
    assert finding.summary.startswith("Clients queue for rows of counter: ")
    assert not any("are hot" in one for one in finding.seen)


@pytest.mark.parametrize(
    "take",
    [
        "SELECT id FROM jobs ORDER BY id LIMIT 1 FOR UPDATE",
        "SELECT id FROM jobs WHERE kind = :kind ORDER BY id LIMIT 1 FOR NO KEY UPDATE",
    ],
)
def test_taking_the_first_row_of_a_queue_gets_advice_to_skip_locked_rows(take):
    """The row is locked where it is chosen, not where it is changed."""
    done = "UPDATE jobs SET done = true WHERE id = :id"
    run = queue_at("BEGIN", take, done, "COMMIT", rows=1000, relation="jobs")
    (hold,) = row_holds(run.loaded())
    assert (hold.statement, hold.rows, hold.locks_first) == (1, None, True)
    finding = outcome_of(RULE, run)
    assert "SKIP LOCKED" in finding.advice[0]
    assert not any("Spread" in line for line in finding.advice)
    assert "SKIP LOCKED" in finding.refute
    skipping = queue_at("BEGIN", f"{take} SKIP LOCKED", "COMMIT", rows=1000, relation="jobs")
    assert "SKIP LOCKED" not in outcome_of(RULE, skipping).advice[0]


@pytest.mark.parametrize(
    ("draws", "refute"),
    [
        ("\\set id random(1, 10 * :scale)", "(a larger --scale)"),
        ("\\set most 10 * :scale\n\\set id random(1, :most)", "(a larger --scale)"),
        ("\\set id random(1, 10)", "Let the script draw from 8 times as many rows of counter"),
        ("\\set d :scale\n\\set id 1", "Let the script draw from 8 times as many rows of counter"),
    ],
)
def test_more_data_is_the_counter_experiment_only_where_keys_are_drawn_over_it(draws, refute):
    sql = "UPDATE counter SET n = n + :d WHERE id = :id"
    run = queue_at("BEGIN", sql, "COMMIT", rows=1, relation="counter", draws=draws)
    assert refute in outcome_of(RULE, run).refute


def scanning(protocol="mysql", *, access="ALL", level="REPEATABLE-READ"):
    """An update whose rows the server finds by reading all of them."""
    plan = PlanFacts(
        statement=1, variant="custom", cost=0, nodes=((access, "counter", 10.0),), text=""
    )
    recording = queue_at(
        "BEGIN",
        "UPDATE counter SET n = n + 1 WHERE other = :other",
        "COMMIT",
        rows=10,
        relation="counter",
        draws="\\set other random(1, 10 * :scale)",
        plans=(plan,),
        settings={"tx_isolation": level},
    ).loaded()
    return changed(recording, plan={"endpoint": {"protocol": protocol}})


def test_a_statement_that_reads_the_whole_table_locks_all_of_it():
    finding = outcome_of(RULE, scanning())
    assert text_of(finding) == snapshot("""\
critical: Row-lock convoy on counter
Clients queue for all rows of counter: they spend 75 % of their time waiting for
each other's row locks.
On average 6 clients wait for all rows of counter at “UPDATE counter SET n = n +
1 WHERE other = :other”: 75 % of client time. It reads the whole table to find
its rows, and locks every row that it reads.
""")
    assert finding.evidence["bound_tps"] is None
    assert finding.advice[0].startswith(
        "Let the statement find its rows of counter through an index"
    )
    assert not any("more rows" in one for one in [*finding.advice, finding.refute])


@pytest.mark.parametrize(
    "recording",
    [
        scanning(access="range"),
        scanning(level="READ-COMMITTED"),
        scanning("postgresql", access="Seq Scan"),
    ],
    ids=["through an index", "lets go of the others", "locks what it changes"],
)
def test_a_script_that_locks_only_what_it_changes_gets_no_advice_to_do_so(recording):
    assert "all rows" not in outcome_of(RULE, recording).summary


def test_waits_for_rows_of_partitions_are_for_those_of_the_whole_table():
    run = queue_at(
        "BEGIN", "UPDATE counter SET n = 1 WHERE id = :id", "COMMIT", rows=10, relation="counter_1"
    )
    parts = (table("counter", 20), replace(table("counter_1", 10), partition_of="counter"))
    (hold,) = row_holds(run.facts(before=ServerFacts(tables=parts)).loaded())
    assert (hold.relation, hold.rows, hold.is_named) == ("counter", 20, True)


def test_a_row_locked_by_a_trigger_is_reported_as_such():
    run = queue_at("UPDATE orders SET v = 1 WHERE id = :id", rows=1, relation="audit")
    finding = outcome_of(RULE, run)
    assert finding.seen[0].endswith(
        "It does not name audit: a trigger, a foreign key, a view or a function locks its rows."
    )
    assert not any("move the statement" in one for one in finding.advice)


def test_waiters_and_their_share_of_time_agree_if_samples_are_missing():
    """Samples that a busy machine delayed cover only half of the time."""
    run = tpcb(8, [])
    for number in range(1, 21):
        run.look(number * 0.25, [waiting(BRANCHES, 6)], [behind(BRANCHES, 6)], seconds=0.25)
    finding = outcome_of(RULE, run)
    (wait,) = finding.evidence["waits"]
    assert 0 < wait["share"] < 6 / 8
    assert wait["waiting_mean"] == pytest.approx(wait["share"] * 8)


def test_no_bound_is_reported_for_rows_that_are_not_equally_likely():
    """Six of eight wait for one of ten thousand rows, each used by one in ten thousand."""
    sql = "UPDATE counter SET n = n + 1 WHERE id = :id"
    finding = outcome_of(RULE, queue_at("BEGIN", sql, "COMMIT", rows=10_000, relation="counter"))
    assert finding.evidence["bound_tps"] is None
    assert finding.seen[-1] == (
        "Some rows of counter are hot: if all were chosen equally often, fewer clients would wait."
    )
    even = outcome_of(RULE, queue_at("BEGIN", sql, "COMMIT", rows=1, relation="counter"))
    assert even.evidence["bound_tps"] == pytest.approx(1000)
    assert not any("are hot" in one for one in even.seen)


def test_the_bound_of_a_table_that_few_wait_for_hides_none_that_most_wait_for():
    """Seven wait for a lock of a trigger, whose bound is unknown; one waits for a teller."""
    at_trigger = replace(behind(TELLERS, 7), waiter=ACCOUNTS, relation="totals")
    waits = [waiting(ACCOUNTS, 7), waiting(TELLERS, 1), waiting(END, 2, "", "")]
    finding = outcome_of(RULE, tpcb(10, waits, [at_trigger, behind(TELLERS, 1)], tps=200))
    assert finding.title == "Row-lock convoy on totals"
    assert finding.evidence["bound_tps"] is None
    assert any("rows of totals" in one for one in finding.advice)


def test_waits_sampled_before_locks_were_read_have_an_unknown_reason():
    """The first two samples of a run read only the sessions, and a short run has no others."""
    run = made_run("UPDATE pgbench_tellers SET tbalance = 1 WHERE tid = :tid", clients=4)
    run.facts(facts(made_table("pgbench_tellers")))
    for time_s in (0.5, 1.0):
        run.look(time_s, [waiting(0, 3)])
    for rule in ("row_lock_convoy", "foreign_lock"):
        assert "before telemetry sampled the lock queue" in outcome_of(rule, run).reason
        assert isinstance(outcome_of(rule, run), CouldNotLook)
    run.look(1.5, [waiting(0, 3)], locks_seconds=1.5)
    assert isinstance(outcome_of("row_lock_convoy", run), NotFound)
