"""Locks outside the load: sessions of others, deadlocks, an old transaction."""

import math

import msgspec
import numpy as np
import pytest
from inline_snapshot import snapshot

from dbdyno.explain.rule import CouldNotLook, NotFound
from dbdyno.formatting import THIN_SPACE, percent
from dbdyno.model.telemetry import ServerFacts
from tests.explain.made import with_looks
from tests.explain.rule_outcomes import outcome_of, text_of
from tests.explain.tpcb import BRANCHES, END, SECONDS, TELLERS, behind, tpcb, waiting
from tests.support.recordings import MadeRun, changed

TOOK_MS = 80.0


def held_by(who, state, wait="", waiters=3):
    blocking = [behind(BRANCHES, waiters, who=who, blocker=-1, root=-1, state=state, wait=wait)]
    return tpcb(4, [waiting(BRANCHES, waiters), waiting(TELLERS, 4 - waiters, "", "")], blocking)


def test_a_foreign_session_idle_in_its_transaction_is_named():
    finding = outcome_of("foreign_lock", held_by("foreign", "idle in transaction"))
    assert finding.share == pytest.approx(3 / 4)
    assert text_of(finding) == snapshot("""\
critical: A foreign session holds locks
A foreign session (idle in transaction) held locks on pgbench_branches: clients
spent 75 % of their time waiting for them.
A foreign session (idle in transaction): 75 % of client time.
On average 3 clients waited at “UPDATE pgbench_branches SET bbalance = bbalance
+ :delta WHERE bid = :bid;”: 75 % of client time.
""")


def test_a_process_of_the_server_is_named():
    finding = outcome_of("foreign_lock", held_by("autovacuum worker", "active", "VacuumDelay"))
    assert text_of(finding) == snapshot("""\
critical: The server's autovacuum worker holds locks
The server's autovacuum worker (waiting for VacuumDelay) held locks on
pgbench_branches: clients spent 75 % of their time waiting for them.
The server's autovacuum worker (waiting for VacuumDelay): 75 % of client time.
On average 3 clients waited at “UPDATE pgbench_branches SET bbalance = bbalance
+ :delta WHERE bid = :bid;”: 75 % of client time.
""")


def test_waiters_behind_a_client_that_waits_for_a_foreign_session_are_named_too():
    foreign = {"root": -1, "state": "idle in transaction"}
    blocking = [
        behind(BRANCHES, 1, who="foreign", blocker=-1, **foreign),
        msgspec.structs.replace(
            behind(TELLERS, 2, **foreign), root_who="foreign", blocker=BRANCHES
        ),
    ]
    waits = [waiting(BRANCHES, 1), waiting(TELLERS, 2), waiting(END, 1, "", "")]
    finding = outcome_of("foreign_lock", tpcb(4, waits, blocking))
    assert finding.evidence["waits"] == [
        {"statement": TELLERS, "share": pytest.approx(2 / 4)},
        {"statement": BRANCHES, "share": pytest.approx(1 / 4)},
    ]
    assert finding.evidence["relations"] == ["pgbench_branches"]
    assert "On average 2 clients waited at “UPDATE pgbench_tellers SET" in finding.seen[1]


def test_a_waiting_table_change_is_reported_as_blocking_the_others():
    """It waits behind a reader, which alone would not have blocked the clients."""
    behind_it = behind(BRANCHES, 3, who="foreign", blocker=-1, root=-1, state="idle in transaction")
    behind_it = msgspec.structs.replace(behind_it, lock="relation", depth=2)
    waits = [waiting(BRANCHES, 3, "Lock", "relation"), waiting(TELLERS, 1, "", "")]
    finding = outcome_of("foreign_lock", tpcb(4, waits, [behind_it]))
    assert finding.seen[-1].startswith(
        f"{percent(3 / 4)} of client time was spent behind a session that"
    )
    assert "short lock timeout" in finding.advice[-1]
    direct = outcome_of("foreign_lock", held_by("foreign", "idle in transaction"))
    assert direct.evidence["between_share"] == 0
    assert not any("lock timeout" in one for one in direct.advice)


@pytest.mark.parametrize(("state", "is_ddl"), [("active", True), ("idle in transaction", False)])
def test_a_running_statement_that_locks_a_table_gets_advice_to_avoid_it(state, is_ddl):
    behind_it = behind(BRANCHES, 3, who="foreign", blocker=-1, root=-1, state=state)
    behind_it = msgspec.structs.replace(behind_it, lock="relation")
    waits = [waiting(BRANCHES, 3, "Lock", "relation"), waiting(TELLERS, 1, "", "")]
    finding = outcome_of("foreign_lock", tpcb(4, waits, [behind_it]))
    assert ("CREATE INDEX CONCURRENTLY" in finding.advice[0]) == is_ddl
    assert any("idle_in_transaction" in one for one in finding.advice) != is_ddl
    of_a_row = outcome_of("foreign_lock", held_by("foreign", state))
    assert not any("CONCURRENTLY" in one for one in of_a_row.advice)


def test_the_mean_number_of_waiters_is_of_the_clients_at_work():
    """Three wait in both stages: that is no share of the 64 clients that the last stage has."""
    run = held_by("foreign", "idle in transaction")
    stages = [(SECONDS / 2, 4), (SECONDS / 2, 64)]
    recording = run.loaded()
    planned = [{"duration_ns": int(s * 1e9), "clients": n, "rate_tps": None} for s, n in stages]
    recording = changed(recording, plan={"clients": 64, "stages": planned})
    finding = outcome_of("foreign_lock", recording)
    assert finding.share == pytest.approx(3 / 34)
    assert any(one.startswith("On average 3 clients waited") for one in finding.seen)


def test_waits_behind_clients_are_not_foreign():
    run = tpcb(4, [waiting(BRANCHES, 3)], [behind(BRANCHES, 3)])
    assert isinstance(outcome_of("foreign_lock", run), NotFound)
    assert isinstance(outcome_of("foreign_lock", MadeRun()), CouldNotLook)


def failing(run, failures, *, failed, failed_ms=TOOK_MS, retried=0, retries=0):
    """The run with these failures in the engine's last frame."""
    recording = run.loaded()
    done = recording.as_recorded.engine["done"]
    counters = done["counters"] | {"failed": failed, "retried": retried}
    engine = {"done": done | {"counters": counters, "failures": failures}}
    intervals = recording.columns["intervals"]
    so_far = intervals["retries"].copy()
    so_far[-1] = retries
    tables = {
        "intervals": intervals | {"retries": so_far},
        "failed": {
            "interval": intervals["interval"][-1:],
            "count": np.array([failed]),
            "mean_ms": np.array([failed_ms]),
        },
    }
    return changed(recording, engine=engine, columns=tables)


def test_sessions_that_may_be_the_loads_own_are_no_strangers():
    """With -C, the only sample with the holder came before the engine reported the connection."""
    outcome = outcome_of("foreign_lock", held_by("unknown", "active"))
    assert isinstance(outcome, CouldNotLook)
    assert "they may belong to the load or not" in outcome.reason


def busy():
    """Eight clients with a hundred transactions a second, without a pause between them."""
    return MadeRun(100, seconds=60, response_ms=TOOK_MS)


def tried_again(run, *tries, failed=()):
    """The run with these failed attempts, each followed by a retry."""
    again = sum(one["count"] for one in tries)
    recording = failing(run, list(failed), failed=len(failed), retried=again, retries=again)
    done = recording.as_recorded.engine["done"] | {"tried_again": list(tries)}
    return changed(recording, engine={"done": done})


def a_try(code, count, took_s, message=""):
    return failure(code, count, message) | {"took_ns": int(took_s * 1e9)}


CLASSES = {
    "1205": "lock_timeout",
    "1213": "deadlock",
    "40P01": "deadlock",
    "40001": "serialization",
    "1020": "serialization",
    "23505": "duplicate_key",
}


def failure(code, count, message):
    return {"failure_class": CLASSES[code], "code": code, "count": count, "message": message}


def test_few_deadlocks_are_a_note():
    few = [failure("40P01", 10, "deadlock detected")]
    recording = failing(busy(), few, failed=10)
    finding = outcome_of("deadlocks", recording)
    assert text_of(finding) == snapshot("""\
note: Deadlocks between transactions
10 deadlocks: about 0.166 % of client time was lost to them.
40P01: deadlock detected.
0.166 % of client time was spent in failed attempts.
""")


def test_the_time_of_those_that_failed_is_what_the_engine_timed():
    """Transactions wait before they fail: a tenth of them takes half of the time."""
    lost = [failure("40001", 600, "could not serialize access")]
    recording = failing(busy(), lost, failed=600, failed_ms=10 * TOOK_MS)
    found = outcome_of("deadlocks", recording)
    assert found.share == pytest.approx(0.5)
    assert found.gain == "Throughput rises by a factor of at most 2."
    others = [*lost, failure("23505", 200, "duplicate key")]
    recording = failing(busy(), others, failed=800, failed_ms=7.5 * TOOK_MS)
    assert outcome_of("deadlocks", recording).share == pytest.approx(0.5 * 600 / 800)


def test_clients_that_have_nothing_to_do_lose_no_time():
    run = with_looks(busy(), (0, "Lock", "transactionid", 2), (0, "idle", "", 6))
    lost = [failure("40001", 6000, "could not serialize access")]
    assert outcome_of("deadlocks", failing(run, lost, failed=6000)).share == pytest.approx(0.5 / 4)


def deadlocked(*, found, timeout_ms=1000):
    """Six of eight clients wait for rows all the time."""
    facts = ServerFacts(
        settings={"deadlock_timeout": str(timeout_ms)},
        details={"units": {"deadlock_timeout": "ms"}},
    )
    blocking = [behind(BRANCHES, 6, root=TELLERS, wait="transactionid")]
    waits = [waiting(BRANCHES, 6), waiting(TELLERS, 2, "", "")]
    run = tpcb(8, waits, blocking, tps=25, facts=facts)
    run.log(3.0, "deadlock", "process 7 waits for ShareLock on transaction 9")
    deadlocks = [failure("40P01", found, "deadlock detected")]
    return failing(run, deadlocks, failed=found)


def test_deadlocks_that_hold_back_everybody_are_grave():
    recording = deadlocked(found=40)  # two a second, each lasting a second
    finding = outcome_of("deadlocks", recording)
    assert finding.share == pytest.approx(6 / 8 * (1 - math.exp(-2)))
    assert finding.certainty == "likely"
    assert text_of(finding) == snapshot("""\
critical: Deadlocks between transactions
40 deadlocks: about 64.8 % of client time was lost to them.
40P01: deadlock detected.
The server's log describes 1, with the waiters and blockers of each.
1.96 % of client time was spent in failed attempts.
64.8 % of client time was spent in lock waits while a deadlock was pending.
""")
    convoy = outcome_of("row_lock_convoy", recording)
    assert convoy.share == pytest.approx(6 / 8 * math.exp(-2))


def test_the_counter_experiment_is_one_that_can_be_made():
    """A single script cannot be left out; serialization failures have no lock order."""
    assert outcome_of("deadlocks", deadlocked(found=40)).refute.startswith("Sort the keys")
    refused = [failure("40001", 5, "could not serialize access")]
    finding = outcome_of("deadlocks", failing(MadeRun(), refused, failed=5))
    assert "READ COMMITTED" in finding.refute
    assert "deadlock" not in finding.why


def of_two_scripts(failures, *, lost, texts=()):
    """A run of two scripts; ``lost`` are the failures of each."""
    run = MadeRun([[50, 50]] * 63, seconds=60, scripts={"up.sql": "", "down.sql": ""})
    for script, sql in texts:
        run.statement(sql, script=script)
    recording = failing(run, failures, failed=sum(lost))
    scripts = recording.columns["scripts"]
    last = scripts["interval"] == scripts["interval"].max()
    scripts["failed"][last] = lost
    return recording


def test_scripts_that_deadlock_are_named():
    lost = (60, 90)
    deadlocks = [failure("40P01", 150, "deadlock detected") | {"statement": None}]
    finding = outcome_of("deadlocks", of_two_scripts(deadlocks, lost=lost))
    assert f"up.sql 60 of 3{THIN_SPACE}060, down.sql 90 of 3{THIN_SPACE}090." in finding.seen[1]
    assert "in up.sql, down.sql: sort the keys" in finding.advice[0]
    assert finding.refute.startswith("Run up.sql, down.sql each alone")


def test_a_script_that_only_reads_has_no_part_in_deadlocks():
    deadlocks = [failure("40P01", 60, "deadlock detected")]
    both = [(0, "update stock set n = n - 1 where id = :id;"), (1, "select n from stock;")]
    finding = outcome_of("deadlocks", of_two_scripts(deadlocks, lost=(60, 0), texts=both))
    assert finding.advice[0].startswith("Lock the same rows in the same order in up.sql: ")
    assert finding.refute.startswith("Sort the keys")
    losing = outcome_of("deadlocks", of_two_scripts(deadlocks, lost=(59, 1), texts=both))
    assert "in up.sql, down.sql" in losing.advice[0]


def test_the_strength_of_locks_comes_first_where_rows_are_shared():
    """Two transactions that both change the row that they share deadlock in any order of rows."""
    deadlocks = [failure("40P01", 60, "deadlock detected")]
    both = [(0, "select n from stock where id = 1 for share;"), (1, "select n from stock;")]
    finding = outcome_of("deadlocks", of_two_scripts(deadlocks, lost=(60, 0), texts=both))
    assert finding.advice[0].startswith("Take each row lock at once in the strongest mode")
    assert finding.advice[1].startswith("Lock the same rows in the same order in up.sql: ")


def test_failures_are_not_attributed_if_others_failed_too():
    few = [failure("40P01", 100, "deadlock detected"), failure("23505", 50, "duplicate key")]
    finding = outcome_of("deadlocks", of_two_scripts(few, lost=(60, 90)))
    assert not any("by script" in one for one in finding.seen)


def test_retries_that_finally_succeeded_count_as_well():
    """InnoDB detects a deadlock at once: no client stalled, and no transaction failed."""
    run = busy().counters("pg_stat_database", {"deadlocks": 20})
    finding = outcome_of("deadlocks", failing(run, [], failed=0, retried=1200, retries=1200))
    assert finding.seen[0].startswith(f"The server counted 1{THIN_SPACE}")
    assert finding.seen[1].endswith("of client time was spent in failed attempts.")


BY_READS = "could not serialize access due to read/write dependencies among transactions"
BY_UPDATE = "could not serialize access due to concurrent update"


@pytest.mark.parametrize(
    ("message", "helps", "helps_not"),
    [
        (BY_READS, "through an index", "a single UPDATE"),
        (BY_UPDATE, "a single UPDATE", "through an index"),
    ],
)
def test_advice_against_a_conflict_is_for_its_kind(message, helps, helps_not):
    finding = outcome_of("deadlocks", failing(busy(), [failure("40001", 50, message)], failed=50))
    advice = " ".join(finding.advice)
    assert helps in advice
    assert helps_not not in advice


def test_against_conflicts_of_snapshots_innodb_is_locked_first():
    recording = failing(busy(), [failure("1020", 50, "Record has changed")], failed=50)
    recording = changed(recording, plan={"endpoint": {"protocol": "mysql"}})
    assert "SELECT … FOR UPDATE" in outcome_of("deadlocks", recording).advice[1]


def test_one_row_alone_deadlocks_whom_no_order_of_rows_helps():
    finding = outcome_of("deadlocks", deadlocked(found=40))
    assert "at once in the strongest mode" in finding.advice[2]
    assert "at once in its strongest mode" in finding.refute


def test_a_short_timeout_makes_deadlocks_cheap():
    finding = outcome_of("deadlocks", deadlocked(found=4, timeout_ms=10))
    assert finding.severity == "note"


def test_serialization_failures_that_were_tried_again():
    run = busy().counters("pg_stat_database", {"deadlocks": 0})
    finding = outcome_of("deadlocks", failing(run, [], failed=0, retried=1200, retries=1500))
    assert finding.share == pytest.approx(1500 / 7500)
    assert finding.severity == "major"
    assert finding.summary.startswith(f"1{THIN_SPACE}500 retries of 1{THIN_SPACE}200 trans")
    assert not finding.gain
    assert finding.title == "Serialization failures between transactions"
    assert "deadlock" not in " ".join([finding.summary, finding.why, *finding.advice])
    assert "READ COMMITTED" in finding.refute


def test_retries_while_the_server_counted_deadlocks_are_attributed_to_them():
    run = busy().counters("pg_stat_database", {"deadlocks": 20})
    finding = outcome_of("deadlocks", failing(run, [], failed=0, retried=1200, retries=1200))
    assert finding.title == "Deadlocks between transactions"
    assert "deadlock_timeout" in finding.why


def test_retries_without_a_counted_reason_may_be_of_either_kind():
    finding = outcome_of("deadlocks", failing(busy(), [], failed=0, retried=1200, retries=1200))
    assert finding.title == "Deadlocks or serialization failures between transactions"
    assert "deadlock_timeout" not in finding.why
    assert "--telemetry basic" in finding.advice[0]
    assert "those that remain are deadlocks" in finding.refute


def test_a_load_that_retries_gets_no_advice_to_retry():
    lost = [failure("40001", 1, "could not serialize access")]
    recording = failing(busy(), lost, failed=1, retried=1, retries=9)
    finding = outcome_of("deadlocks", recording)
    assert finding.summary.startswith("1 serialization failure and 9 retries of 1 transac")
    assert "--max-tries" in finding.advice[0]
    recording = changed(recording, plan={"retry": {"tries_max": 10}})
    finding = outcome_of("deadlocks", recording)
    assert "--max-tries" not in " ".join(finding.advice)


def test_tries_are_known_by_why_they_failed_and_have_the_time_they_took():
    run = busy().counters("global_status", {"deadlocks": 0})
    whole_s = 60 * 100 * TOOK_MS / 1e3
    both = tried_again(
        run,
        a_try("1213", 20, whole_s / 10, "Deadlock found"),
        a_try("1205", 5, whole_s / 4, "too long"),
    )
    finding = outcome_of("deadlocks", both)
    assert finding.share == pytest.approx(1 / 10)
    assert finding.title == "Deadlocks between transactions"
    assert finding.summary.startswith("20 deadlocks, all retried: about 10")
    assert finding.seen[0] == "1213: Deadlock found."
    assert finding.gain
    finding = outcome_of("tries_again", both)
    assert finding.share is None
    assert text_of(finding) == snapshot("""\
minor: Transactions had to be retried
5 attempts failed and had to be retried, by lock timeout (1205): 25 % of client
time was spent in them.
5 times 1205: too long.
""")


def test_a_lock_that_was_not_had_in_time_is_no_serialization_failure():
    """The server counted no deadlocks, and in the end nothing failed."""
    run = busy().counters("global_status", {"deadlocks": 0})
    recording = tried_again(run, a_try("1205", 1200, 60))
    assert isinstance(outcome_of("deadlocks", recording), NotFound)
    assert "lock timeout (1205)" in outcome_of("tries_again", recording).summary


def test_some_that_failed_and_some_that_were_tried_again_are_counted_together():
    lost = a_try("40001", 1, 0.1)
    finding = outcome_of("deadlocks", tried_again(busy(), a_try("40001", 9, 1), failed=[lost]))
    assert finding.summary.startswith("10 serialization failures, 9 of them retried")


def test_a_few_short_tries_are_not_reported():
    run = tried_again(busy(), a_try("1205", 5, 0.1))
    assert isinstance(outcome_of("tries_again", run), NotFound)
    assert isinstance(outcome_of("tries_again", busy()), NotFound)


def test_tries_without_end_are_all_there_was():
    recording = tried_again(MadeRun(0, seconds=60), a_try("1205", 60, 60))
    finding = outcome_of("tries_again", recording)
    assert finding.evidence["share_of_time"] == 1
    assert finding.severity == "critical"


def test_other_failures_are_not_deadlocks():
    recording = failing(MadeRun(), [failure("23505", 5, "duplicate key")], failed=5)
    assert isinstance(outcome_of("deadlocks", recording), NotFound)


def aged(oldest_s, horizon, dead, *, live=100, idle_s=None, tps=1000, **load):
    run = MadeRun(tps, seconds=30, warmup=0, **load)
    idle_s = oldest_s if idle_s is None else idle_s
    ages = {
        "oldest_transaction_s": oldest_s,
        "oldest_idle_in_transaction_s": idle_s,
        "horizon_age_transactions": horizon,
    }
    run.levels("sessions", ages)
    return run.levels("pg_stat_user_tables", {"n_dead_tup": dead, "n_live_tup": live}, of="planted")


GROWING = np.arange(1.0, 31.0)


def test_an_idle_transaction_and_what_it_did():
    run = aged(GROWING, GROWING * 1000, GROWING * 1000, tps=1000 - 20 * GROWING)
    finding = outcome_of("long_transaction", run)
    assert finding.certainty == "sure"
    assert text_of(finding) == snapshot("""\
critical: Idle transaction holds back the xmin horizon
An idle transaction that is 30 s old keeps 30 000 dead rows of planted from
being removed; the table has 100 live rows.
The xmin horizon is 30 000 transactions behind.
Throughput in the last third of the run is 44.9 % below the first third.
""")


def of_standby(horizon):
    return {"standby_age_transactions": horizon}


def test_a_slot_that_holds_the_horizon_has_no_transaction():
    run = aged(0.1, GROWING * 1000, GROWING * 1000, idle_s=0.0)
    finding = outcome_of("long_transaction", run.levels("sessions", of_standby(GROWING * 1000)))
    assert text_of(finding) == snapshot("""\
major: Replication slot or standby holds back the xmin horizon
A replication slot or a standby keeps 30 000 dead rows of planted from being
removed; the table has 100 live rows.
The xmin horizon is 30 000 transactions behind.
Throughput did not fall noticeably.
""")
    assert "pg_replication_slots" in finding.advice[0]


def test_a_transaction_that_is_farther_behind_than_a_standby_is_the_holder():
    run = aged(GROWING, GROWING * 1000, GROWING * 1000).levels("sessions", of_standby(500.0))
    assert outcome_of("long_transaction", run).title.startswith("Idle transaction")
    assert "idle_in_transaction" in outcome_of("long_transaction", run).advice[-1]


@pytest.mark.parametrize("load", [{"stages": [(15, 32), (15, 8)]}, {"is_open": True}])
def test_a_planned_decline_is_not_attributed_to_locks(load):
    tps = np.repeat([1000, 300], 15)
    finding = outcome_of("long_transaction", aged(GROWING, GROWING * 1000, 5000, tps=tps, **load))
    assert (finding.severity, finding.certainty) == ("major", "likely")
    assert finding.evidence["lost_throughput"] is None
    assert "Throughput" not in " ".join(finding.seen)


def test_a_transaction_that_works_is_called_long():
    finding = outcome_of("long_transaction", aged(GROWING, GROWING * 1000, 50.0, idle_s=0.0))
    assert "long reports and dumps" in finding.advice[-1]
    assert finding.title == "Long transaction holds back the xmin horizon"
    assert finding.severity == "minor"


@pytest.mark.parametrize(
    "run",
    [
        aged(0.2, 10, 5000),  # as young as the load's own transactions
        aged(GROWING, 1.0, 5000),  # old, but holds nothing back
        aged(GROWING, GROWING * 1000, 1.0),  # old, but nothing is dead
    ],
    ids=["young", "harmless", "nothing dead"],
)
def test_quiet_without_harm(run):
    assert isinstance(outcome_of("long_transaction", run), NotFound)


def test_a_transaction_that_was_old_after_the_load_held_nothing_back():
    run = MadeRun(1000, seconds=30, warmup=0)
    ages = {"oldest_transaction_s": [*[0.2] * 30, 300.0], "horizon_age_transactions": 1e6}
    run.levels("sessions", ages, at_s=[*range(1, 31), 330])
    run.levels("pg_stat_user_tables", {"n_dead_tup": 5000, "n_live_tup": 100}, of="planted")
    assert isinstance(outcome_of("long_transaction", run), NotFound)


def test_could_not_look_at_sessions():
    assert isinstance(outcome_of("long_transaction", MadeRun()), CouldNotLook)
