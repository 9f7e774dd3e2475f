"""Behind a pooler, mostly in transaction mode: what works, and the messages about the rest.

Eight clients share two sessions, with as much telemetry as possible: nothing that telemetry or
the control connection does may reach the load through a session that both have used.
"""

from collections.abc import Iterator

import psycopg
import pytest

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.errors import DbdynoError
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


def test_a_script_that_empties_its_session_is_named(home, target, tmp_path):
    script = tmp_path / "forgetful.sql"
    script.write_text("select 1;\ndiscard all;\n")
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
