"""Whole runs with telemetry on real servers, also on servers that fail."""

import os
import signal
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import psycopg
import pytest

from dbdyno.analysis.series.readings import Span, total
from dbdyno.analysis.series.timeline import timeline
from dbdyno.analysis.series.totals import measured_total
from dbdyno.analysis.waits.budget import budget
from dbdyno.analysis.waits.session_samples import measured_s, unsampled_s
from dbdyno.analysis.waits.wait_bands import bands
from dbdyno.databases.postgresql.over_postgresql import ADAPTER
from dbdyno.explain.locks.row_holds import bound_range_tps, bound_tps, row_holds
from dbdyno.explain.needs import server_facts
from dbdyno.explain.rules.statement_order import timed_scripts
from dbdyno.explain.statements.order import advise
from dbdyno.formatting import percent
from dbdyno.model.counters import Processes
from dbdyno.model.plan import Stage
from dbdyno.model.tables import rows
from dbdyno.run.connected_server import connect_to
from dbdyno.run.options.run_options import SECOND_NS, RunOptions
from dbdyno.run.watching import watching
from dbdyno.servers.base import Server
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
from tests.conftest import SMALL
from tests.support.ended import assert_sound
from tests.support.patience import PATIENCE_S, eventually, wait_until
from tests.telemetry.watched import Observer, lacks, measure, nobody_watches, seen

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def one_row(database: Server, tmp_path: Path) -> str:
    """A script of two statements, of which the second always updates the same row."""
    with database.connect() as control:
        control.execute("create table counter (id int primary key, n int)")
        control.execute("insert into counter values (1, 0)")
    script = tmp_path / "count.sql"
    script.write_text("select 17;\nupdate counter set n = n + 1 where id = 1;\n")
    return str(script)


@pytest.mark.usefixtures("watchful")
def test_clients_behind_a_session_from_outside(database: Server, one_row: str):
    """The row is locked from the middle of the run on: two clients wait, and only for it."""
    holder = database.connect()
    try:

        def hold() -> None:
            holder.execute("begin")
            holder.execute("select from counter where id = 1 for update")

        recording = measure(
            database, one_row, Observer(hold), telemetry="full", stall_limit_ns=5 * SECOND_NS
        )
    finally:
        holder.close()

    waiting = {
        number: seen(recording, "waits", who="client", statement=number, wait_type="Lock")
        for number in (0, 1)
    }
    assert waiting[1] > 4
    # The server reports text and wait of a session one after the other: it may have gone on.
    assert waiting[0] < 0.1 * waiting[1]
    assert seen(recording, "waits", who="foreign", state="idle in transaction") > 2
    blocking = recording.columns["blocking"]
    held = blocking["root_who"] == "foreign"
    assert np.mean(blocking["waiter"][held] == 1) > 0.9
    assert set(blocking["relation"][held]) == {"counter"}
    assert np.mean(blocking["root_state"][held] == "idle in transaction") > 0.9
    assert {1, 2} >= set(blocking["depth"][held].tolist()) >= {1}
    longest = blocking["waited_s"][held] / blocking["count"][held]
    assert 0.5 < longest.max() < 30


@pytest.mark.usefixtures("watchful")
def test_tpcb_with_more_clients_than_tellers(database: Server):
    recording = measure(database, "tpcb", clients=16, telemetry="full")
    sql = dict(rows(recording.statement_texts.statement, recording.statement_texts.sql))
    waiting = {
        fragment: sum(
            seen(recording, "waits", statement=number, wait_type="Lock")
            for number, text in sql.items()
            if fragment in text
        )
        for fragment in ("pgbench_accounts", "pgbench_tellers", "pgbench_branches", "insert", "end")
    }
    hot_ones = waiting["pgbench_tellers"], waiting["pgbench_branches"]
    assert min(hot_ones) > 0.05 * sum(hot_ones)
    # The server reports text and wait of a session one after the other: it may have gone on.
    elsewhere = waiting["pgbench_accounts"] + waiting["insert"] + waiting["end"]
    assert elsewhere < 0.1 * waiting["pgbench_tellers"]
    blocking = recording.columns["blocking"]
    # Two clients may occasionally draw the same account, too.
    hot = np.isin(blocking["relation"], ["pgbench_tellers", "pgbench_branches", ""])
    assert blocking["count"][hot].sum() > 0.9 * blocking["count"].sum()
    assert set(blocking["relation"][~hot]) <= {"pgbench_accounts"}
    assert set(blocking["root_who"].tolist()) == {"client"}
    assert blocking["depth"].max() >= 2
    clients = np.bincount(
        np.unique(recording.waits.time_s, return_inverse=True)[1],
        recording.waits.count * (recording.waits.who == "client"),
    )
    assert set(clients.tolist()) == {16}  # each sample has every client once


@pytest.mark.usefixtures("patient", "watchful")
def test_the_cost_of_telemetry_is_recorded(
    database: Server, one_row: str, monkeypatch: pytest.MonkeyPatch
):
    # The load's sessions publish their last counts when they disconnect.
    monkeypatch.setattr("dbdyno.telemetry.server_task.DISCONNECT_MAX_S", PATIENCE_S)
    recording = measure(database, one_row, telemetry="full")
    telemetry = recording.record.telemetry
    assert telemetry["level"] == "full"
    assert 1.5 < telemetry["seconds"] < 30
    assert 1 < telemetry["waits_hz"] <= 25
    assert 0 < telemetry["cpu_us"] < 0.5e6 * telemetry["seconds"]
    assert 0 < telemetry["server_cpu_us"] < 0.5e6 * telemetry["seconds"]
    samples = recording.columns["samples"]
    assert telemetry["samples"] == (samples["source"] == "waits").sum()
    assert {"pg_stat_database", "wal_position", "processes", "machine"} <= set(samples["source"])
    assert recording.before
    assert recording.after
    commits = recording.columns["counters"]
    counted = commits["delta"][commits["name"] == "xact_commit"].sum()
    assert counted >= recording.record.transactions.ok  # to the last one, although published late


def test_nothing_is_watched_when_it_is_off(database: Server, one_row: str):
    threads: set[str] = set()
    sessions: list[int] = []

    def look() -> None:
        threads.update(thread.name for thread in threading.enumerate())
        with database.connect() as control:
            row = control.execute(
                "select count(*) from pg_stat_activity where application_name ~ 'telemetry'"
            ).fetchone()
            sessions.append(row[0])

    recording = measure(database, one_row, Observer(look), telemetry="off")
    assert sessions == [0]
    assert not any("telemetry" in name for name in threads)
    assert recording.record.telemetry == {"level": "off", "lacks": []}
    assert len(recording.samples.time_s) == 0
    assert recording.plan.activity_interval_ns is None
    assert_sound(recording.record.invalid_reasons)


def test_work_before_a_run_is_counted_before_it(database: Server):
    """Otherwise loading appears ten seconds into the run, as if clients had read and written it."""
    with connect_to(database) as connected:
        connected.control.execute("create table t (id int)")
        connected.control.execute("insert into t select generate_series(1, 1000)")
        plan = Mock(scripts=(), clients=1)
        options = RunOptions(target=database.url)
        watching(options, connected, plan, Mock(), knows_sessions=True)
        with database.connect() as other:
            counted = other.execute("select n_tup_ins from pg_stat_user_tables").fetchone()
    assert counted == (1000,)


def test_a_load_that_needs_every_connection_gets_them(database: Server, one_row: str):
    with database.connect() as control:
        # Sessions that have just disconnected are counted until the server notices.
        free = eventually(
            lambda: ADAPTER.free_connections(control), lambda free: " 0 in use" in free.reason
        )
    recording = measure(database, one_row, clients=free.count, duration_ns=SECOND_NS)
    assert_sound(recording.record.invalid_reasons)
    assert "the load uses all available connections" in lacks(recording)["server"]
    assert (recording.samples.source == "machine").sum() >= 2


@pytest.mark.usefixtures("watchful")
def test_a_role_that_may_see_little(database: Server, one_row: str):
    with database.connect() as control:
        control.execute("drop role if exists clerk")
        control.execute("create role clerk login")
        control.execute("grant all on counter to clerk")
    clerk = psycopg.conninfo.conninfo_to_dict(database.conninfo)
    url = f"postgresql://clerk@/{clerk['dbname']}?host={clerk['host']}&port={clerk['port']}"
    recording = measure(database, one_row, target=url, telemetry="full")
    assert_sound(recording.record.invalid_reasons)
    assert "pg_monitor" in lacks(recording)["sessions"]
    assert "log" in lacks(recording)
    assert seen(recording, "waits", who="client", statement=1) > 0


@pytest.mark.usefixtures("patient")
def test_statistics_set_back_in_the_middle(database: Server, one_row: str):
    def reset() -> None:
        with database.connect() as control:
            control.execute("select pg_stat_reset()")

    recording = measure(database, one_row, Observer(reset, at=5), duration_ns=4 * SECOND_NS)
    samples = recording.columns["samples"]
    of_database = samples["source"] == "pg_stat_database"
    assert samples["was_reset"][of_database].sum() == 1
    deltas = recording.counters.delta
    assert deltas.min() == 0


def test_a_server_restarted_in_the_middle(tmp_path: Path):
    """Its end is recorded as missing, and its counters continue from their new values."""
    # It restarts within the run on any disk: with fsync it would sync all its files first.
    with start_private(ServerSpec(settings={**SMALL, "fsync": "off"}), connections=8) as server:
        script = tmp_path / "one.sql"
        script.write_text("select 1;")

        def crash() -> None:
            with server.connect() as control:
                os.kill(control.info.backend_pid, signal.SIGKILL)

        recording = measure(server, str(script), Observer(crash, at=5), duration_ns=7 * SECOND_NS)
    assert "server" in lacks(recording)
    samples = recording.columns["samples"]
    of_database = samples["source"] == "pg_stat_database"
    assert samples["time_s"][of_database].max() > 4
    assert samples["was_reset"][of_database].sum() == 1
    assert recording.counters.delta.min() == 0


def test_a_server_that_freezes_does_not_hold_the_end(tmp_path: Path):
    with start_private(ServerSpec(settings=SMALL), connections=8) as server:
        script = tmp_path / "one.sql"
        script.write_text("select 1;")
        frozen: list[int] = []

        def freeze() -> None:
            with server.connect() as control:
                found = control.execute(
                    "select pid from pg_stat_activity "
                    "where backend_type = 'client backend' and pid <> pg_backend_pid()"
                )
                frozen.extend(pid for (pid,) in found)
            for pid in frozen:
                os.kill(pid, signal.SIGSTOP)

        began = time.monotonic()
        try:
            recording = measure(
                server, str(script), Observer(freeze), stall_limit_ns=SECOND_NS, telemetry="full"
            )
            assert time.monotonic() - began < 30
            # Their connections were cut, and on a slow host they may notice after the end of the
            # run.
            wait_until(nobody_watches, "the end of telemetry's threads")
        finally:
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)
    assert recording.record.status == "failed"


@pytest.mark.usefixtures("watchful")
def test_the_chart_shows_as_much_cpu_time_as_the_kernel_counted(any_server: Server):
    """Short statements of many clients: samples alone see few of the sessions that are on a CPU."""
    recording = measure(
        any_server, "select-only", clients=32, telemetry="full", duration_ns=4 * SECOND_NS
    )
    used_s = sum(
        total(recording, counter, "server", Span(end_s=measured_s(recording))) or 0.0
        for counter in (Processes.user_us, Processes.system_us)
    )
    line = timeline(recording).whole_intervals()
    found = bands(recording)
    measured = line.phase == "measure"
    assert found.knows_cpu
    shown = np.nanmean(found.sessions["cpu"][measured])
    counted = used_s / 1e6 / measured_s(recording)
    assert shown == pytest.approx(counted, rel=0.2)
    sampled = measured & ~np.isnan(found.sessions["cpu"])  # on a busy host, some have no sample
    seen = sum(np.nan_to_num(band) for band in found.sessions.values())[sampled]
    assert seen[-1] > 0.8 * np.median(seen)  # no sample shows sessions that have just ended
    spent = budget(recording)
    assert spent is not None
    sampled_share = 1 - unsampled_s(recording) / measured_s(recording)
    assert sampled_share > 0.3
    assert spent.share("cpu") * 32 == pytest.approx(counted * sampled_share, rel=0.1)


def test_shares_are_of_the_clients_of_each_stage(any_server: Server):
    """With -C, clients of a later stage have no connection: they are neither idle nor outside."""
    clients = (2, 32)
    recording = measure(
        any_server,
        "select-only",
        clients=None,
        duration_ns=None,
        stages=tuple(Stage(duration_ns=2 * SECOND_NS, clients=number) for number in clients),
        reconnect=True,
    )
    wanted_s = sum(2 * number for number in clients)
    spent = budget(recording)
    assert spent is not None
    assert spent.total == pytest.approx(wanted_s, rel=0.05)
    (churn,) = (one for one in recording.record.findings if one.id == "connection_churn")
    connecting_s = measured_total(recording, recording.connects).seconds
    assert churn.share == pytest.approx(connecting_s / wanted_s, rel=0.05)
    assert f"spent {percent(churn.share)} of their time connecting" in churn.summary


@pytest.mark.usefixtures("watchful")
def test_two_rules_state_the_same_bound_of_a_row_with_its_interval(database: Server):
    recording = measure(database, "tpcb", clients=8, telemetry="full", duration_ns=3 * SECOND_NS)
    case = recording
    rows_of = {table.name: table.rows for table in server_facts(case).tables}
    advice = advise(timed_scripts(case), rows_of)
    assert advice is not None
    before, holds = advice.before, row_holds(case)
    assert before.table == "pgbench_branches"
    assert before.tps == pytest.approx(bound_tps(holds, before.table))
    assert before.range_tps == pytest.approx(bound_range_tps(holds, before.table))
    low, high = before.range_tps
    assert low < before.tps < high
