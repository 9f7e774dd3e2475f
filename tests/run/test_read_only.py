"""Loads on servers that refuse writes: those that write are refused before they start."""

from collections.abc import Iterator

import pytest
from psycopg.conninfo import make_conninfo

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.errors import DbdynoError
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import SECOND_NS, RunOptions
from dbdyno.run.tools import engine_tools
from dbdyno.servers.base import Server
from dbdyno.store.listing import runs_folder
from tests.engine.postgres import Postgres
from tests.run.test_runner import Observer
from tests.support.running import run

pytestmark = pytest.mark.usefixtures("home")

LENGTH = {"clients": 1, "duration_ns": SECOND_NS, "warmup_ns": 0, "telemetry": "off"}


def measured(url: str, *items: str):
    named = [WeightedName(item, 1) for item in items]
    return run(named, RunOptions(target=url, **LENGTH), engine_tools(), Observer()).record


@pytest.fixture
def standby() -> Iterator[Postgres]:
    """A server with the data of tpcb that waits for a primary which never comes."""
    server = Postgres(local_binaries()[0].folder)
    try:
        measured(server_url(server), "tpcb")
        (server.data / "standby.signal").touch()
        server.restart()
        yield server
    finally:
        server.remove()


def server_url(server: Postgres) -> str:
    return make_conninfo(
        host=str(server.folder), port=server.port, user="postgres", dbname="postgres"
    )


def test_a_standby_runs_what_reads_and_refuses_what_writes(standby, tmp_path):
    url = server_url(standby)
    runs = sorted(runs_folder().iterdir())
    with pytest.raises(DbdynoError, match="standby, which is in recovery, and tpcb writes to pgb"):
        measured(url, "tpcb")
    mine = tmp_path / "mine.sql"
    mine.write_text("select abalance from pgbench_accounts where aid = 1 for update;\n")
    with pytest.raises(DbdynoError, match=r"mine\.sql locks rows of pgbench_accounts"):
        measured(url, str(mine))
    mine.write_text("copy pgbench_history (tid, bid) from stdin;\n1\t1\n\\.\n")
    with pytest.raises(DbdynoError, match=r"mine\.sql writes to pgbench_history"):
        measured(url, str(mine))
    with pytest.raises(DbdynoError, match="of oltp_point_select cannot be loaded"):
        measured(url, "oltp_point_select")
    assert sorted(runs_folder().iterdir()) == runs
    assert measured(url, "select-only").transactions.ok > 0


def test_a_role_that_only_reads_is_told_where_this_is_set(database: Server):
    with database.connect() as control:
        name = control.info.dbname
        measured(database.conninfo, "tpcb")
        control.execute(f"alter database {name} set default_transaction_read_only = on")
    with pytest.raises(DbdynoError, match=r"_read_only is on for this session \(set by database\)"):
        measured(database.conninfo, "tpcb")
    assert measured(database.conninfo, "select-only").transactions.ok > 0


def test_mariadb_refuses_only_users_without_the_right(mariadb_server: Server, new_database):
    server = new_database(mariadb_server)
    measured(server.conninfo, "tpcb")
    with server.connect() as control:
        control.execute("create user reader identified by 'x'")
        (name,) = control.execute("select database()").fetchone()
        control.execute(f"grant all on {name}.* to reader")
        control.execute("set global read_only = on")
        try:
            assert measured(server.conninfo, "tpcb").transactions.ok > 0
            own = server.conninfo.replace("root@", "reader:x@")
            with pytest.raises(DbdynoError, match="read_only is on: it may be a replica"):
                measured(own, "tpcb")
            assert measured(own, "select-only").transactions.ok > 0
        finally:
            control.execute("set global read_only = off")
            control.execute("drop user reader")
