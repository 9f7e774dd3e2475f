"""Whole runs on real servers: what is recorded, and what is refused with nothing touched."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from dbdyno.databases.postgresql import describe
from dbdyno.errors import DbdynoError
from dbdyno.report.pages.run import render_summary
from dbdyno.run.connected_server import ConnectedServer, connect_to
from dbdyno.run.measure import Measured
from dbdyno.run.observer import Observer as RunObserver
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.runner import _refuse_not_begun
from dbdyno.run.tools import Tools, engine_tools
from dbdyno.run.verdict import meant_table
from dbdyno.servers.base import Server
from dbdyno.store.run import open_run
from dbdyno.store.summary import list_runs
from dbdyno.store.writer import RunWriter
from tests.store.hdr import HISTOGRAMS
from tests.support.engine import (
    Crashing,
    Forgetful,
    Interrupted,
    InterruptedEarly,
    InterruptedTwice,
    Refused,
    Silent,
    tools,
)
from tests.support.plans import plan_of
from tests.support.running import run

SHORT = {"clients": 2, "transactions": 10, "warmup_ns": 0}
TRANSACTIONS = 20
ENDLESS = {"clients": 2, "duration_ns": 600_000_000_000, "warmup_ns": 0, "interval_ns": 100_000_000}


class Observer(RunObserver):
    def __init__(self) -> None:
        self.messages: list[str] = []
        self.phases: list[str] = []

    def say(self, text: str) -> None:
        self.messages.append(text)

    def loading(self, progress) -> None:
        self.phases.append(progress.phase)

    def started(self, plan, started) -> None:
        self.phases.append("run")

    def interval(self, interval) -> None:
        self.phases.append(interval.phase)


@pytest.fixture
def database(postgres_server: Server):
    """The URL of an empty database on the session's server."""
    with postgres_server.connect() as control:
        control.execute("drop database if exists runs")
        control.execute("create database runs")
        host = control.info.host
        return f"postgresql://{control.info.user}@/runs?host={host}&port={control.info.port}"


def test_who_kept_a_load_from_beginning_is_named():
    measured = Measured(was_silent=True, awaited="worker h3 did not begin")
    with pytest.raises(DbdynoError, match="the load did not begin: worker h3") as refused:
        _refuse_not_begun(plan_of(), measured)
    assert "dbdyno workers check" in refused.value.hint


def run_tpcb(
    url: str, doors: Tools | None = None, items=("tpcb",), observer=None, length=SHORT, **options
):
    named = [WeightedName(item, 1) for item in items]
    chosen = RunOptions(target=url, telemetry="off", disturbance_max=1.0, **length, **options)
    return run(named, chosen, doors or engine_tools(), observer or Observer()).record


def transactions_kept() -> int:
    return open_run("last").columns("intervals")["completed_ok"].sum()


def test_a_first_run_loads_measures_checks_and_records(database, home):
    observer = Observer()
    record = run_tpcb(database, observer=observer, seed=7, tags=(("host", "a"),))

    assert observer.phases[0] == "create"
    assert "fill" in observer.phases
    assert list(dict.fromkeys(observer.phases))[-2:] == ["run", "measure"]
    assert observer.messages[0].startswith("loaded 100\u202f011 rows")
    assert (record.status, record.valid, record.invalid_reasons) == ("done", True, [])
    assert (record.seed, record.tags, record.workload) == (7, {"host": "a"}, "tpcb")
    assert record.transactions.ok == TRANSACTIONS
    assert record.response_ms.p99 > record.response_ms.p50 > 0
    assert record.server["version"]
    assert record.server["durability"]["fsync"] == "on"
    assert any("share" in doubt for doubt in record.doubts)

    kept = open_run("last")
    assert kept.record == record
    assert kept.host["cpu"]["cores_online"] >= 1
    assert kept.server["settings"]


def test_data_that_is_there_is_used_again(database, home):
    run_tpcb(database)
    observer = Observer()
    record = run_tpcb(database, observer=observer)
    assert list(dict.fromkeys(observer.phases)) == ["run", "measure"]
    assert record.valid


def test_a_broken_invariant_makes_the_run_invalid(database, home):
    record = run_tpcb(database, tools(Forgetful))
    assert not record.valid
    assert any("invariant violated: rows of pgbench_history" in r for r in record.invalid_reasons)


def test_a_role_that_may_not_read_for_the_invariants_runs_without_them(database, home):
    run_tpcb(database)
    with psycopg.connect(database) as connection:
        connection.execute("drop role if exists writer")
        connection.execute("create role writer login")
        connection.execute("grant select, update, insert on all tables in schema public to writer")
        connection.execute("revoke select on pgbench_history from writer")
    record = run_tpcb(make_conninfo(database, user="writer"))
    assert (record.valid, record.invariants_read) == (True, [])
    assert any("invariants could not be checked" in doubt for doubt in record.doubts)


def test_scripts_beside_a_workload_leave_its_laws_alone(database, home, tmp_path):
    script = tmp_path / "mine.sql"
    script.write_text("select 1;")
    observer = Observer()
    record = run_tpcb(database, items=("tpcb", str(script)), observer=observer)
    assert record.valid
    assert any("invariants are not checked" in messages for messages in observer.messages)
    assert [s.name for s in record.scripts] == ["tpcb", str(script)]


def test_a_script_of_ones_own_needs_no_workload(database, home, tmp_path):
    script = tmp_path / "mine.sql"
    script.write_text("\\set aid random(1, 9)\nselect :aid;")
    record = run_tpcb(database, items=(str(script),))
    assert record.workload == "mine"
    assert record.transactions.ok == TRANSACTIONS


def test_a_script_that_can_never_work_ends_the_run(database, home, tmp_path):
    script = tmp_path / "mine.sql"
    script.write_text("\\set aid 1\nselect :aid;\nselect * from nowhere;\n")
    record = run_tpcb(database, items=(str(script),), length=ENDLESS)
    assert (record.status, record.valid) == ("failed", False)
    why = record.invalid_reasons[0]
    place = f'{script}:3 can never work: 42P01 relation "nowhere" does not exist'
    assert why.startswith(f"the run was aborted: {place}, in: select * from nowhere")
    # How many more fail depends on when the other client has seen its first failure.
    assert record.transactions.failed >= 10
    kept = open_run("last")
    assert kept.record == record
    assert kept.columns("failures")["code"].tolist() == ["42P01"]


def test_scripts_that_find_no_table_on_a_new_server_are_told_why(home, tmp_path):
    script = tmp_path / "mine.sql"
    script.write_text("select * from orders;\n")
    observer = Observer()
    record = run_tpcb(None, items=(str(script),), length=ENDLESS, observer=observer)
    assert "without --target, the scripts run on a new and empty server" in observer.messages
    assert record.invalid_reasons[1:] == [
        "the server was new and empty: name the one that has your tables with --target"
    ]


def test_a_new_server_that_is_at_work_for_long_is_not_told_to_lack_tables(home, tmp_path):
    path = tmp_path / "long.sql"
    path.write_text("select pg_sleep(9);")
    record = run_tpcb(None, items=[str(path)], stall_limit_ns=1_000_000_000)
    (reason,) = record.invalid_reasons
    assert "raise --stall-limit" in reason


def test_a_typo_in_a_tables_name_costs_a_few_lines(database, home, tmp_path):
    """The error, its line, and the table that was meant."""
    run_tpcb(database)
    script = tmp_path / "mine.sql"
    script.write_text("select 1;\nupdate pgbench_acounts set abalance = 0 where aid = 1;\n")
    record = run_tpcb(database, items=(str(script),), length=ENDLESS)
    assert "no table is named pgbench_acounts: did you mean pgbench_accounts?" in [
        reason.replace("public.", "") for reason in record.invalid_reasons
    ]
    text = render_summary(record, open_run("last").load(HISTOGRAMS).plan)
    # How many lines the run's name and its reasons take depends on the lengths of paths.
    _, verdict = text.strip().split("\n\n")
    assert len([line for line in verdict.splitlines() if not line.startswith("    ")]) == 3
    assert f"{script}:2 can never work: 42P01" in " ".join(text.split())


@pytest.mark.parametrize(
    ("reason", "meant"),
    [
        ("Table 'shop.order' doesn't exist", "shop.orders"),
        ('relation "public.Oders" does not exist', "shop.orders"),
        ('relation "invoices" does not exist', None),
        ("out of shared memory", None),
    ],
)
def test_a_table_that_was_meant_has_nearly_the_name(reason, meant):
    found = meant_table([f"the run was aborted: {reason}, in: select 1"], ["shop.orders", "x"])
    assert (found is None) if meant is None else found.endswith(f"did you mean {meant}?")


def test_failures_that_are_allowed_end_nothing(database, home, tmp_path):
    script = tmp_path / "mine.sql"
    script.write_text("select * from nowhere;")
    record = run_tpcb(database, items=(str(script),), failures_max=1.0)
    assert (record.status, record.transactions.failed) == ("done", TRANSACTIONS)


def test_a_crash_of_the_engine_is_a_failed_run_whose_data_is_kept(database, home):
    record = run_tpcb(database, tools(Crashing), length=ENDLESS)
    assert record.status == "failed"
    assert record.invalid_reasons == ["the engine ended before the run did"]
    assert record.transactions.ok == transactions_kept() > 0


def test_a_silent_engine_is_ended_and_its_data_is_kept(database, home, monkeypatch):
    monkeypatch.setattr("dbdyno.run.measure.SILENCE_MIN_S", 3.0)
    record = run_tpcb(database, tools(Silent), length=ENDLESS)
    assert record.status == "failed"
    assert record.invalid_reasons == ["the engine fell silent and was ended"]
    assert record.transactions.ok == transactions_kept() > 0


def test_an_interrupted_run_is_kept(database, home):
    record = run_tpcb(database, tools(Interrupted), length=ENDLESS)
    assert (record.status, record.valid) == ("interrupted", False)


def test_interrupted_again_it_is_still_an_interrupted_run(database, home):
    record = run_tpcb(database, tools(InterruptedTwice), length=ENDLESS)
    assert (record.status, record.valid) == ("interrupted", False)
    (reason,) = record.invalid_reasons
    assert reason.startswith("the run was interrupted")


def test_interrupted_twice_before_it_began_it_leaves_nothing(database, home):
    with pytest.raises(KeyboardInterrupt):
        run_tpcb(database, tools(InterruptedEarly), length=ENDLESS)
    assert list_runs() == []


def test_an_interrupt_during_the_verdict_keeps_the_numbers(database, home, monkeypatch):
    def interrupt(*_anything: object, **_more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dbdyno.run.conclude.summarize", interrupt)
    observer = Observer()
    with pytest.raises(KeyboardInterrupt):
        run_tpcb(database, observer=observer)
    assert observer.messages[-1] == "the results so far are kept: dbdyno report last --text"
    assert open_run("last").status == "interrupted"
    assert transactions_kept() == TRANSACTIONS


def test_a_run_that_cannot_be_explained_says_so(database, home, monkeypatch):
    """Without findings it would look as if nothing limited it."""

    def fail(_recording) -> None:
        raise ZeroDivisionError("a slip")

    monkeypatch.setattr("dbdyno.run.conclude.costs", fail)
    observer = Observer()
    assert run_tpcb(database, observer=observer).status == "done"
    assert observer.messages[-1] == "the run could not be explained: ZeroDivisionError: a slip"
    assert observer.messages[-1] in open_run("last").log


def test_a_full_disk_is_the_failure_of_a_run_that_had_begun(database, home, monkeypatch):
    def refuse(_writer, _record) -> None:
        raise DbdynoError("disk_full", "no space left", "free some")

    monkeypatch.setattr(RunWriter, "finish", refuse)
    with pytest.raises(DbdynoError) as refused:
        run_tpcb(database)
    assert (refused.value.code, refused.value.exit_code) == ("disk_full", 2)
    assert open_run("last").status == "interrupted"
    assert transactions_kept() == TRANSACTIONS


def test_nothing_is_kept_of_a_run_that_did_not_begin(database, home):
    with pytest.raises(DbdynoError) as refused:
        run_tpcb(database, tools(Refused))
    assert (refused.value.code, refused.value.exit_code) == ("cannot_connect", 1)
    assert 'role "nobody_at_all" does not exist' in refused.value.message
    assert list_runs() == []


def test_a_server_that_goes_before_the_first_transaction(database, home, monkeypatch):
    @contextmanager
    def lose(server: Server) -> Iterator[ConnectedServer]:
        with connect_to(server) as connected:
            pid = connected.control.info.backend_pid
            with server.connect() as control:
                control.execute("select pg_terminate_backend(%s)", [pid])
            yield connected

    monkeypatch.setattr("dbdyno.run.runner.connect_to", lose)
    with pytest.raises(DbdynoError) as refused:
        run_tpcb(database)
    assert (refused.value.code, refused.value.exit_code) == ("server_lost", 1)
    assert list_runs() == []


def test_an_odd_fact_of_the_server_is_a_doubt(database, home, monkeypatch):
    odd = describe.FACTS.replace("pg_database_size(oid)", "null::int8")
    monkeypatch.setattr(describe, "FACTS", odd)
    record = run_tpcb(database)
    assert record.valid
    (doubt,) = [one for one in record.doubts if one.startswith("not described")]
    assert "answers about its database bytes could not" in doubt
    server = open_run("last").server
    assert (server["database_bytes"], server["cache_bytes"]) == (0, 64 * 2**20)
    assert record.server["promise"] == "full"


def test_a_durability_that_is_not_told_promises_nothing(database, home, monkeypatch):
    monkeypatch.setattr(describe, "_durability", lambda connection: connection.missing)
    record = run_tpcb(database)
    assert record.valid
    assert record.server["promise"] is None
    assert any("answers about its durability" in doubt for doubt in record.doubts)


def test_more_clients_than_the_server_admits(database, home):
    with pytest.raises(DbdynoError) as refused:
        run_tpcb(database, length={"clients": 5000})
    assert refused.value.code == "too_many_clients"
    assert "max_connections" in refused.value.message
    with psycopg.connect(database) as connection:
        assert not connection.execute("select 1 from pg_class where relname ~ 'pgbench'").fetchall()


def test_more_clients_than_the_role_may_have(database, home):
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("create role few login connection limit 3")
    try:
        with pytest.raises(DbdynoError) as refused:
            run_tpcb(make_conninfo(database, user="few"), length={"clients": 3})
    finally:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("drop role few")
    assert refused.value.code == "too_many_clients"
    assert "the role's CONNECTION LIMIT 3, 0 in use and one by us" in refused.value.message


def test_the_encoding_of_a_database_makes_no_record_unreadable(database, home, tmp_path):
    script = tmp_path / "sleep.sql"
    script.write_text("select pg_sleep(0.2);")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("drop database if exists bytes")
        connection.execute(
            "create database bytes template template0 encoding 'SQL_ASCII' locale 'C'"
        )
    options = RunOptions(
        target=make_conninfo(database, dbname="bytes"), disturbance_max=1.0, **SHORT
    )
    record = run([WeightedName(str(script), 1)], options, engine_tools(), Observer()).record
    assert record.status == "done"
    assert "client" in open_run("last").columns("waits")["who"]


def test_more_clients_than_files_are_refused_before_any_server_is_located(home):
    with pytest.raises(DbdynoError) as refused:
        run_tpcb("postgresql://nowhere.invalid/x", length={"clients": 3_000_000_000})
    assert refused.value.code == "too_few_files"
    assert "use fewer clients (-c)" in refused.value.hint


def test_a_home_that_cannot_be_written_is_refused_before_any_server_is_located(home):
    home.write_text("in the way")
    with pytest.raises(DbdynoError) as refused:
        run_tpcb("postgresql://nowhere.invalid/x")
    assert (refused.value.code, refused.value.exit_code) == ("home_unwritable", 1)


def test_scripts_with_errors_are_refused_before_any_server_is_located(home, tmp_path):
    script = tmp_path / "a.sql"
    script.write_text("select :never;\n\n\\set x rnd(1)\n")
    observer = Observer()
    with pytest.raises(DbdynoError) as refused:
        run_tpcb("postgresql://nowhere.invalid/x", items=(str(script),), observer=observer)
    assert refused.value.message == f'{script}:3:8: there is no function of this name at "rnd"'
    assert observer.messages == [
        f"warning: {script}:1:8: nothing sets this variable: it is left in the SQL unchanged "
        'at ":never"'
    ]
