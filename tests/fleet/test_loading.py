"""Agents that load together make the data of one host, or say which of them did not."""

import os
import signal
import subprocess

import pytest

from dbdyno.cli.output import Exit
from dbdyno.engine import load
from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Loaded, Progress
from dbdyno.servers.base import Server
from tests.engine.postgres import Postgres
from tests.engine.test_loading import FILLER, ID, plan_of, table_of
from tests.fleet.test_fleet import begun
from tests.run.test_end_to_end import DBDYNO, dbdyno
from tests.support.patience import eventually, wait_until
from tests.support.program import Program

TABLES = ("pgbench_accounts", "pgbench_branches", "pgbench_tellers", "pgbench_history")


@pytest.fixture
def table(local: Postgres):
    with local.connect() as connection:
        connection.execute("create table target (id bigint, filler text)")
        yield connection
        connection.execute("drop table target")


def checksums(server: Server) -> dict[str, tuple]:
    with server.connect() as connection:
        return {
            name: connection.execute(
                f"select count(*), sum(hashtextextended(t::text, 0)) from {name} t"
            ).fetchone()
            for name in TABLES
        }


def test_the_data_is_that_of_one_host(new_database, postgres_server):
    """Six pieces of accounts, a single piece of everything else."""
    alone, together = new_database(postgres_server), new_database(postgres_server)
    words = ("load", "tpcb", "-s", "3", "--seed", "7")
    ended = dbdyno(*words, "--target", alone.url)
    assert ended.returncode == Exit.OK, ended.stderr
    ended = dbdyno(*words, "--target", together.url, "--workers", "local*3")
    assert ended.returncode == Exit.OK, ended.stderr
    assert "over 3 connections" in " ".join(ended.stdout.split())
    assert checksums(together) == checksums(alone)


def test_others_continue_what_was_interrupted(new_database, postgres_server):
    """The pieces that are there stay, and the data is that of one host."""
    alone, together = new_database(postgres_server), new_database(postgres_server)
    words = ("load", "tpcb", "-s", "10", "--seed", "7")
    ended = dbdyno(*words, "--target", alone.url)
    assert ended.returncode == Exit.OK, ended.stderr
    to = ("--target", together.url, "--workers")
    with Program(
        [*DBDYNO, *words, *to, "local*3"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        eventually(lambda: rows_of(together), bool)
        process.kill()
    assert 0 < rows_of(together) < 1_000_000
    ended = dbdyno(*words, *to, "local*2")
    assert ended.returncode == Exit.OK, ended.stderr
    assert checksums(together) == checksums(alone)


def rows_of(server: Server) -> int:
    """Rows of accounts that are committed."""
    with server.connect() as connection:
        (found,) = connection.execute(
            "select to_regclass('pgbench_accounts') is not null"
        ).fetchone()
        if not found:
            return 0
        return connection.execute("select count(*) from pgbench_accounts").fetchone()[0]


def test_each_agent_loads_its_share(local, table):
    plan = plan_of(local, table_of(ID, FILLER, rows=400_000), jobs=2)
    with begun("local*2") as fleet:
        running = fleet.load(plan)
        frames = list(running)
    assert running.rows == {"local-1": 200_000, "local-2": 200_000}
    assert isinstance(frames[-1], Loaded)
    assert frames[-1].rows == 400_000
    assert frames[-2] == Progress("target", 400_000, 400_000)
    found = table.execute("select count(*), count(distinct id), max(id) from target").fetchone()
    assert found == (400_000, 400_000, 400_000)


def test_a_lost_agent_ends_the_load_by_its_name(local, table):
    plan = plan_of(local, table_of(ID, FILLER, rows=100_000_000, pieces_max=4), jobs=2)

    def losing_one() -> None:
        with begun("local*2") as fleet:
            for frame in fleet.load(plan):
                if isinstance(frame, Progress) and frame.rows > 0:
                    pid = fleet.agents[1].pid
                    assert pid is not None
                    os.kill(pid, signal.SIGKILL)

    with pytest.raises(DbdynoError, match="worker local-2 was lost before it had loaded its rows"):
        losing_one()
    running = "select count(*) from pg_stat_activity where query ilike 'copy target%'"
    wait_until(lambda: table.execute(running).fetchone() == (0,), "the end of the load")


def test_an_agent_that_is_lost_while_one_engine_loads_ends_the_load(local, table):
    """It waits for its own job, which would otherwise be told after hours of loading."""
    plan = plan_of(local, table_of(ID, FILLER, rows=100_000_000, pieces_max=4), jobs=2)

    def losing_one() -> None:
        with begun("local*2") as fleet:
            for frame in fleet.while_loading(load)(plan):
                if isinstance(frame, Progress) and frame.rows > 0:
                    fleet.agents[1].kill()

    lost = "worker local-2 was lost while data was loaded: its process was killed by SIGKILL"
    with pytest.raises(DbdynoError, match=lost):
        losing_one()


def test_what_the_server_refuses_names_the_agent(local):
    plan = plan_of(local, table_of(ID, FILLER, rows=10), jobs=2)
    with (
        pytest.raises(DbdynoError, match=r'worker local-1: .*"target" does not exist'),
        begun("local*2") as fleet,
    ):
        list(fleet.load(plan))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("tpcb", "-j", "1"), "1 connection cannot be shared by 2 agents"),
        (("my.lua",), "--workers does not apply to a sysbench script"),
    ],
)
def test_what_cannot_be_shared_is_refused(postgres_server, tmp_path, words, message):
    script = tmp_path / "my.lua"
    script.write_text("function event() end\nfunction prepare() end\n")
    words = [str(script) if word == "my.lua" else word for word in words]
    ended = dbdyno("load", *words, "--workers", "local*2", "--target", postgres_server.url)
    assert ended.returncode == Exit.NOTHING_RUN
    assert message in " ".join(ended.stderr.split())
