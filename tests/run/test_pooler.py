"""Behind a pooler, mostly in transaction mode: what works, and the messages about the rest.

Eight clients share two sessions, with as much telemetry as possible: nothing that telemetry or
the control connection does may reach the load through a session that both have used.
"""

import json
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest

from dbdyno.databases.connecting import inspecting
from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.errors import DbdynoError
from dbdyno.report.pages.run import render_summary
from dbdyno.report.verdict import intermediaries
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.tools import engine_tools
from dbdyno.store.run import open_run
from tests.engine.postgres import Postgres
from tests.run.poolers import pooler
from tests.run.test_runner import Observer
from tests.support.running import run

SECOND_NS = 1_000_000_000


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    server = Postgres(local_binaries()[0].folder)
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def target(server) -> Iterator[str]:
    """A pooler for each test: what one test prepares stays in the sessions for the next."""
    with pooler(server.folder, server.port, sessions=2) as target:
        yield target


def measured(target, item="tpcb", clients=8, telemetry="full", **changes):
    options = RunOptions(
        target=target,
        clients=clients,
        duration_ns=2 * SECOND_NS,
        warmup_ns=0,
        telemetry=telemetry,
        failures_max=1.0,
        disturbance_max=1.0,
        **changes,
    )
    return run([WeightedName(str(item), 1)], options, engine_tools(), Observer()).record


def test_what_the_end_cancels_is_cancelled_on_the_server_and_the_pooler_survives(
    home, server, target, tmp_path
):
    """PgBouncer 1.18 ends when a client leaves before its request to cancel was passed on."""
    script = tmp_path / "long.sql"
    script.write_text("select pg_sleep(600);")
    record = measured(target, script, query_mode="simple", clients=2)
    assert record.transactions.unfinished == 2
    psycopg.connect(target).close()
    running = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'"
    with psycopg.connect(host=server.folder, port=server.port, user="postgres") as connection:
        assert connection.execute(running).fetchone() == (0,)


@pytest.mark.parametrize("mode", ["simple", "extended"])
def test_scripts_without_session_state_work(home, target, mode):
    record = measured(target, query_mode=mode)
    assert (record.valid, record.failures) == (True, [])
    assert record.transactions.ok > 100
    assert not any(doubt.startswith("not alone") for doubt in record.doubts)


def test_telemetry_leaves_nothing_in_sessions_where_the_next_run_would_meet_it(home, target):
    for _ in range(2):
        measured(target, query_mode="simple")
        lacks = open_run("last").columns("lacks")["reason"].tolist()
        assert not [
            reason for reason in lacks if "prepared statement" in reason or "ended" in reason
        ]
        assert "pg_stat_database" in open_run("last").columns("counters")["source"]
    with psycopg.connect(target, prepare_threshold=None) as connection:
        for _ in range(4):  # sessions are lent in turn
            left = connection.execute("select name from pg_prepared_statements").fetchall()
            connection.commit()
            assert left == []


def test_a_session_that_has_others_statements_is_refused(home, target):
    """A statement of the same name by another client or script would run instead of ours."""
    with pytest.raises(DbdynoError, match="a pooler shares the session") as caught:
        measured(target, query_mode="prepared")
    assert "-M extended" in caught.value.hint
    assert "max_prepared_statements" in caught.value.hint


def test_a_script_that_empties_its_session_is_named(home, server, tmp_path):
    script = tmp_path / "forgetful.sql"
    script.write_text("select 1;\ndiscard all;\n")
    with pooler(server.folder, server.port, sessions=20, mode="session") as target:
        record = measured(target, script, query_mode="prepared", clients=1)
    (lost,) = (finding for finding in record.findings if finding.id == "statements_lost")
    assert "forgetful.sql" in lost.advice[0]


def test_a_pooler_with_too_few_sessions_is_named(home, server, tmp_path):
    """Each session serves one client for good: the control connection, and two clients of eight."""
    script = tmp_path / "mine.sql"
    script.write_text("select 1;\n")
    with (
        pooler(server.folder, server.port, sessions=3, mode="session") as target,
        pytest.raises(DbdynoError, match="although other clients are connected") as caught,
    ):
        measured(f"{target}&connect_timeout=5", script, telemetry="off")
    assert "default_pool_size" in caught.value.hint


def test_a_pooler_is_seen_and_said(home, target):
    """What shows it, how it lends its sessions, and what is not known behind it."""
    record = measured(target, query_mode="simple")
    (found,) = record.intermediaries
    assert (found.target, found.kind, found.mode) == (record.target, "pooler", "transaction")
    assert found.product.startswith("PgBouncer 1.")
    assert found.seen[0].startswith("the login told of session ")
    assert "requests of two connections" in found.seen[-1]
    assert found.keeps_prepared is False
    (said,) = intermediaries(record)
    assert said.startswith(f"through {found.title}: response times include it")
    plan = open_run("last").load(engine_tools().histograms).plan
    assert "a pooler in transaction mode" in render_summary(record, plan)
    samples = open_run("last").columns("waits")
    assert {*samples["state"][samples["who"] == "client"]} <= {""}  # nobody knows its session
    reasons = {one.reason for one in record.not_looked}
    assert any("a pooler in between has session ids of its own" in reason for reason in reasons)


def test_the_cpu_time_of_a_server_behind_a_pooler_on_this_host_is_known(home, target):
    """Its processes are found by what the server says of itself; whose they are, is not known."""
    record = measured(target, query_mode="simple")
    assert record.server["cpu_us_per_transaction"] > 0
    assert not {part.processes for part in record.server_processes} & {
        "clients' sessions",
        "other sessions",
    }


def test_a_pooler_in_session_mode_keeps_what_is_prepared(home, server):
    with pooler(server.folder, server.port, sessions=20, mode="session") as target:
        record = measured(target, clients=2)
    (found,) = record.intermediaries
    assert (found.mode, found.keeps_prepared) == ("session", True)
    assert record.failures == []


def test_a_pooler_that_takes_no_transactions_is_refused(home, server):
    with (
        pooler(server.folder, server.port, sessions=3, mode="statement") as target,
        pytest.raises(DbdynoError, match="it takes no transactions") as caught,
    ):
        measured(target, query_mode="simple")
    assert caught.value.code == "pooler_mode"
    assert "pool_mode = transaction" in caught.value.hint


def test_a_pooler_with_one_session_is_seen_nevertheless(home, server, tmp_path):
    """In session mode a second connection gets none, so the mode does not show."""
    script = tmp_path / "mine.sql"
    script.write_text("select 1;\n")
    with pooler(server.folder, server.port, sessions=1, mode="session") as target:
        with inspecting(target) as (driver, connection):
            found = driver.intermediary(target, connection)
        assert (found.kind, found.mode, found.keeps_prepared) == ("pooler", None, None)
        assert "got no session" in found.seen[-1]


def test_nothing_shows_in_front_of_a_server_itself(home, server, tmp_path):
    script = tmp_path / "mine.sql"
    script.write_text("select 1;\n")
    target = f"postgresql://postgres@/postgres?host={server.folder}&port={server.port}"
    record = measured(target, script)
    assert record.intermediaries == []
    assert [*intermediaries(record)] == []


def test_clients_that_get_no_session_are_explained(home, server, tmp_path):
    script = tmp_path / "mine.sql"
    script.write_text("select 1;\n")
    with pooler(server.folder, server.port, sessions=3, mode="session") as target:
        record = measured(target, script, telemetry="off", query_mode="simple")
    assert record.transactions.unfinished == 6
    assert any(doubt.startswith("unfinished behind a pooler") for doubt in record.doubts)


def test_the_doctor_looks_at_the_way_to_a_server(server):
    with pooler(server.folder, server.port, sessions=3) as target:
        ended = subprocess.run(
            [sys.executable, "-m", "dbdyno", "doctor", "--target", target, "--json"],
            capture_output=True,
            text=True,
            check=False,
        )
    way = json.loads(ended.stdout)["diagnoses"][-1]
    assert (way["name"], way["level"]) == ("server", "warning")
    assert "PgBouncer" in way["found"]
    assert "-M simple" in way["mend"]
