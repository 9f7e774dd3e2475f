"""Rules about MariaDB and MySQL, and those that mean the same there as everywhere."""

import numpy as np
import pytest

from dbdyno.databases.known import all_databases
from dbdyno.explain.explain import explain
from dbdyno.explain.registry import all_rules
from dbdyno.explain.rule import CouldNotLook, NotFound
from dbdyno.model.record import Finding
from dbdyno.model.telemetry import PlanFacts, ServerFacts
from tests.explain.made import facts, index, made_run, table, with_looks
from tests.explain.rule_outcomes import outcome_of
from tests.support.recordings import MadeRun, changed

UPDATE = "update accounts set balance = 1 where id = :id"
LOOKUP = "select balance from accounts where owner = :owner"
MIB = 1 << 20
STATUS = "global_status"


def innodb(run):
    """The recording of a run on MariaDB."""
    return changed(run.loaded(), plan={"endpoint": {"protocol": "mysql"}})


def with_redo(run, *, filled, bound=64 * MIB, per_s=2 * MIB):
    """A redo log filled to this share of ``bound`` in each second."""
    run.counters("wal_position", {"bytes": per_s})
    ages = np.asarray(filled) * bound
    return run.levels("wal_position", {"age_bytes": ages, "age_max_bytes": bound})


def with_history(run, length, *, oldest_s=0.0, idle=True):
    ages = {
        "oldest_transaction_s": oldest_s,
        "oldest_idle_in_transaction_s": oldest_s if idle else 0.0,
    }
    run.levels("sessions", ages)
    return run.levels(STATUS, {"Innodb_history_list_length": length})


def test_rules_for_one_database_are_not_run_for_another():
    explanation = explain(innodb(made_run(UPDATE)))
    not_applicable = {"hot_updates", "full_page_writes", "autovacuum_behind"}
    assert not_applicable.isdisjoint(one.id for one in explanation.not_looked)
    assert "furious_flushing" in {one.id for one in explanation.not_looked}
    on_postgresql = explain(made_run(UPDATE).loaded())
    assert {"furious_flushing", "purge_lag"}.isdisjoint(one.id for one in on_postgresql.not_looked)


@pytest.mark.parametrize("rule", ["row_lock_convoy", "lwlock", "wal_write", "long_transaction"])
def test_without_the_right_to_see_transactions_their_waiters_are_unknown(rule):
    """To such a user a row lock wait is a wait inside the server, which the kernel reports."""
    run = with_looks(with_history(made_run(UPDATE), 9), (0, "Kernel", "futex", 8))
    outcome = outcome_of(rule, innodb(run.lack("sessions", "grant process on *.* to it")))
    assert isinstance(outcome, CouldNotLook)
    assert outcome.reason.endswith("grant process on *.* to it")


def test_a_redo_log_that_is_nearly_full():
    found = outcome_of("furious_flushing", innodb(with_redo(made_run(UPDATE), filled=0.9)))
    assert isinstance(found, Finding)
    assert found.severity == "critical"  # half of the time, and the log turns over every 32 s
    assert found.evidence["turn_s"] == pytest.approx(32)
    assert found.summary.endswith("every 32\u202fs.")


def test_a_large_redo_log_that_is_full_now_and_then():
    filled = np.where(np.arange(63) % 10 == 0, 0.9, 0.3)
    run = with_redo(made_run(UPDATE), filled=filled, bound=4096 * MIB)
    found = outcome_of("furious_flushing", innodb(run))
    assert found.severity == "minor"
    assert found.evidence["near"] == pytest.approx(0.1)


def test_the_loss_near_the_bound_covers_only_the_measured_part():
    """Ten seconds at half the throughput count; ten more, of the drain, do not."""
    last = np.arange(63) >= 43
    run = MadeRun(np.where(last, 500, 1000), seconds=60)
    recording = innodb(with_redo(run, filled=np.where(last, 0.9, 0.3), bound=4096 * MIB))
    recording.intervals.phase[-10:] = "drain"
    assert outcome_of("furious_flushing", recording).evidence["lost"] == pytest.approx(
        0.5 * 10 / 50
    )


def test_a_redo_log_with_room():
    assert isinstance(
        outcome_of("furious_flushing", innodb(with_redo(made_run(UPDATE), filled=0.6))), NotFound
    )


def test_waits_for_free_pages():
    def waited(times):
        run = with_redo(made_run(UPDATE), filled=0.1)
        run.counters(STATUS, {"Innodb_buffer_pool_wait_free": times})
        return outcome_of("furious_flushing", innodb(run))

    found = waited(50)
    assert found.title.startswith("Buffer pool full")
    assert found.evidence == {"free_waits": 3000}
    assert "only 300 times" in waited(5).reason


def test_an_idle_transaction_holds_back_the_purge():
    length = np.linspace(0, 60_000, 63)
    found = outcome_of(
        "long_transaction", innodb(with_history(made_run(UPDATE), length, oldest_s=50))
    )
    assert found.title == "Idle transaction holds back the purge of old versions"
    assert found.severity == "major"
    assert isinstance(
        outcome_of("purge_lag", innodb(with_history(made_run(UPDATE), length, oldest_s=50))),
        NotFound,
    )


def test_an_old_transaction_that_keeps_little():
    run = with_history(made_run(UPDATE), 100, oldest_s=50)
    assert "little was kept" in outcome_of("long_transaction", innodb(run)).reason


def test_purge_lags_behind_by_itself():
    length = np.linspace(0, 30_000, 63)
    found = outcome_of("purge_lag", innodb(with_history(made_run(UPDATE), length)))
    assert found.severity == "minor"
    assert found.evidence["put_off"] == pytest.approx(0.48, abs=0.02)
    assert isinstance(
        outcome_of("long_transaction", innodb(with_history(made_run(UPDATE), length))), NotFound
    )


def test_purge_that_does_next_to_nothing_is_major():
    length = np.linspace(0, 60_000, 63)
    assert (
        outcome_of("purge_lag", innodb(with_history(made_run(UPDATE), length))).severity == "major"
    )


def test_a_lookup_without_an_index():
    plan = PlanFacts(
        statement=0, variant="custom", cost=0.0, nodes=(("ALL", "accounts", 5e4),), text=""
    )
    of = table(rows=50_000, columns=("id", "owner"), indexes=(index("PRIMARY", "id"),))
    run = made_run(LOOKUP, ok=10).counters(
        STATUS, {"Handler_read_rnd_next": 500_000, "Handler_read_next": 0}
    )
    run.facts(ServerFacts(tables=(of,), plans=(plan,)))
    found = outcome_of("missing_index", innodb(run))
    assert found.advice == ["CREATE INDEX accounts_owner ON accounts (owner);"]
    assert found.certainty == "sure"


def test_a_lookup_behind_a_view():
    plan = PlanFacts(
        statement=0,
        variant="custom",
        cost=0.0,
        nodes=(("ALL", "accounts", 5e4),),
        text="",
        compared=(("accounts", "owner"),),
    )
    of = table(rows=50_000, columns=("id", "owner"), indexes=(index("PRIMARY", "id"),))
    run = made_run("select id from holders where name = :name", ok=10).counters(
        STATUS, {"Handler_read_rnd_next": 500_000, "Handler_read_next": 0}
    )
    run.facts(ServerFacts(tables=(of,), plans=(plan,)))
    found = outcome_of("missing_index", innodb(run))
    assert found.advice == ["CREATE INDEX accounts_owner ON accounts (owner);"]
    assert found.certainty == "sure"


def test_an_index_on_text_that_is_searched_for_a_number():
    plan = PlanFacts(
        statement=0,
        variant="custom",
        cost=0.0,
        nodes=(("ALL", "accounts", 5e4),),
        text="",
        converted=(("accounts", "owner"),),
    )
    of = table(rows=50_000, columns=("id", "owner"), indexes=(index("by_owner", "owner"),))
    run = made_run(LOOKUP, ok=10).counters(
        STATUS, {"Handler_read_rnd_next": 500_000, "Handler_read_next": 0}
    )
    run.facts(ServerFacts(tables=(of,), plans=(plan,)))
    found = outcome_of("missing_index", innodb(run))
    assert found.title == "Unusable index: a lookup converts the indexed column"
    assert "bind or cast the value" in found.advice[0]


def test_an_index_on_a_column_of_which_a_function_is_compared():
    """MariaDB reads the whole index then, and has no index on a function."""
    plan = PlanFacts(
        statement=0, variant="custom", cost=0.0, nodes=(("index", "accounts", 5e4),), text=""
    )
    indexes = (index("PRIMARY", "id"), index("by_opened", "opened"))
    of = table(rows=50_000, columns=("id", "opened"), indexes=indexes)
    run = made_run("select id from accounts where date(opened) = :day", ok=10).counters(
        STATUS, {"Handler_read_rnd_next": 0, "Handler_read_next": 500_000}
    )
    run.facts(ServerFacts(tables=(of,), plans=(plan,)))
    found = outcome_of("missing_index", innodb(run))
    assert "those with one value of date(opened): no index begins with" in found.summary
    assert found.advice[0].startswith("Compare the column itself, with a value or a range")
    assert "that statement changed" in found.refute


def test_deadlocks_that_innodb_counted():
    found = outcome_of(
        "deadlocks", innodb(made_run(UPDATE).counters(STATUS, {"Innodb_deadlocks": 10}))
    )
    assert found.evidence["server_deadlocks"] == 600
    assert any("READ COMMITTED" in advice for advice in found.advice)


def test_reads_that_the_server_timed():
    run = with_looks(made_run(LOOKUP), (0, "io/file", "innodb/innodb_data_file read", 4))
    reads = {"Innodb_buffer_pool_reads": 2000, "Innodb_buffer_pool_read_requests": 10_000}
    run.counters(STATUS, reads).counters("file_io", {"read_us": 4e6}, of="innodb_data_file")
    run.facts(ServerFacts(details={"waits_are_told": True}))
    found = outcome_of("data_read", innodb(run))
    assert found.share == pytest.approx(0.5)
    assert found.certainty == "sure"
    assert found.evidence["read_ms"] == pytest.approx(2)


def test_reads_without_recorded_waits_or_read_times():
    run = with_looks(made_run(LOOKUP), (0, "", "", 4))
    run.counters(
        STATUS, {"Innodb_buffer_pool_reads": 2000, "Innodb_buffer_pool_read_requests": 10_000}
    )
    reason = "neither waits nor read times were recorded (performance_schema is off)"
    assert outcome_of("data_read", innodb(run)) == CouldNotLook(reason)


def test_commits_that_wait_for_the_redo_log():
    run = with_looks(made_run(UPDATE), (0, "Commit", "commit", 6))
    run.counters(STATUS, {"Innodb_log_writes": 100})
    run.facts(facts(innodb_flush_log_at_trx_commit="1"))
    found = outcome_of("wal_write", innodb(run))
    assert found.title == "Limited by redo log writes and flushes"
    assert found.severity == "critical"
    relaxed = "innodb_flush_log_at_trx_commit=2 instead of 1"
    assert found.advice[-1].endswith(f"{relaxed}, for the whole server.")


@pytest.mark.parametrize(
    ("level", "synced", "title", "relaxed"),
    [
        (
            *("1", "1", "Limited by redo log and binary log writes and flushes"),
            "innodb_flush_log_at_trx_commit=2 instead of 1 and sync_binlog=0 instead of 1",
        ),
        ("2", "1", "Limited by binary log writes and flushes", "sync_binlog=0 instead of 1"),
        (
            *("1", "0", "Limited by redo log writes and flushes"),
            "innodb_flush_log_at_trx_commit=2 instead of 1",
        ),
    ],
)
def test_a_binary_log_has_a_flush_of_its_own(level, synced, title, relaxed):
    run = with_looks(made_run(UPDATE), (0, "Commit", "commit", 6))
    settings = {"log_bin": "ON", "sync_binlog": synced, "innodb_flush_log_at_trx_commit": level}
    found = outcome_of("wal_write", innodb(run.facts(facts(**settings))))
    assert found.title == title
    assert "to reach storage" in found.summary
    assert found.seen[0].endswith("They wait for it directly for 75\u202f% of client time.")
    assert found.refute == f"On a test server, run again with {relaxed}: this share must disappear."
    assert ("replicas" in found.advice[-1]) == ("sync_binlog" in relaxed)


def test_if_neither_log_is_flushed_no_commit_waits_for_storage():
    run = with_looks(made_run(UPDATE), (0, "Commit", "commit", 6))
    settings = {"log_bin": "ON", "sync_binlog": "0", "innodb_flush_log_at_trx_commit": "2"}
    found = outcome_of("wal_write", innodb(run.facts(facts(**settings))))
    assert found.why.startswith("No commit waits for storage here")
    assert (found.severity, found.certainty) == ("note", "hint")
    assert "in which it also works" in found.seen[-1]


def test_tables_on_disk_without_those_of_telemetry():
    run = with_looks(made_run(LOOKUP, ok=100), (0, "", "", 1))  # two samples a second
    run.counters(STATUS, {"Created_tmp_disk_tables": 2, "Sort_merge_passes": 0})
    assert isinstance(outcome_of("temporary_files", innodb(run)), NotFound)
    run.counters(STATUS, {"Sort_merge_passes": 20})
    found = outcome_of("temporary_files", innodb(run))
    assert found.severity == "minor"
    assert found.evidence["merge_passes"] == pytest.approx(0.2)


def test_a_latch_by_its_name():
    run = with_looks(made_run(UPDATE), (0, "synch/mutex", "innodb/buf_pool_mutex", 4))
    found = outcome_of("lwlock", innodb(run))
    assert found.title == "InnoDB latch contention: innodb/buf_pool_mutex"
    assert found.summary.startswith("Sessions wait for the InnoDB latch innodb/buf_pool_mutex,")


def test_a_wait_that_only_the_kernel_saw_is_a_hint():
    run = with_looks(made_run(UPDATE), (0, "Kernel", "futex", 4))
    found = outcome_of("lwlock", innodb(run))
    assert found.title == "Unnamed waits inside the server"
    assert (found.severity, found.certainty) == ("minor", "hint")


@pytest.mark.parametrize("switch", ["OFF", "ON"])
def test_only_what_is_off_is_to_be_switched_on(switch):
    run = with_looks(made_run(UPDATE), (0, "Kernel", "futex", 4))
    found = outcome_of("lwlock", innodb(run.facts(facts(performance_schema=switch))))
    assert ("performance_schema = ON" in found.advice[0]) == (switch == "OFF")


def test_settings_that_promise_less():
    run = made_run(UPDATE).facts(
        facts(innodb_flush_log_at_trx_commit="0", innodb_doublewrite="OFF", general_log="ON")
    )
    found = outcome_of("distorting_settings", innodb(run))
    assert found.evidence["settings"] == [
        "innodb_flush_log_at_trx_commit = 0",
        "innodb_doublewrite = OFF",
        "general_log = ON",
    ]


@pytest.mark.parametrize("level", ["1", "3"])
def test_no_log_that_each_commit_flushes_distorts(level):
    """MariaDB's 3 flushes more often than 1, not less."""
    run = made_run(UPDATE).facts(facts(innodb_flush_log_at_trx_commit=level))
    assert isinstance(outcome_of("distorting_settings", innodb(run)), NotFound)


@pytest.mark.parametrize("rule", all_rules().values(), ids=lambda rule: rule.id)
def test_rules_name_databases_that_there_are(rule):
    assert any(rule.is_for(database) for database in all_databases().values())
