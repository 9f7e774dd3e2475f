"""sysbench scripts with several connections for each client, on two real servers.

The same scripts run in sysbench itself, which must leave the same rows. Only there, PostgreSQL's
lists of hosts go to libpq, which takes the first that answers: it gets both connections here.
"""

import html
import json
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dbdyno.cli import main
from dbdyno.cli.output import Exit
from dbdyno.databases.postgresql.server.binaries import local_binaries
from tests.engine.mariadb import MariaDB
from tests.engine.postgres import Postgres
from tests.support.ended import ENDED
from tests.support.patience import PATIENCE_S, wait_until

CALM = ("--warmup", "0", "--telemetry", "off", "-P", "0", "--max-failures", "100%")

WRITER_AND_READER = """
function thread_init()
   drv = sysbench.sql.driver()
   writer, reader = drv:connect(), drv:connect()
   seen = reader:prepare("insert into seen values (1)")
   events = 0
end
function event()
   events = events + 1
   writer:query("begin")
   writer:query("insert into written values (" .. events .. ")")
   reader:query("begin")
   seen:execute()
   writer:query("commit")
   reader:query(events % 4 == 0 and "rollback" or "commit")
   if events % 5 == 0 then
      reader:disconnect()
      reader = drv:connect()
      seen = reader:prepare("insert into seen values (1)")
   end
end
function thread_done()
   writer:disconnect() reader:disconnect()
end
"""
EVENTS = 20


class Pair:
    """Two servers of one kind, each with the tables."""

    def __init__(self, kind: str) -> None:
        assert shutil.which("sysbench"), "install it: apt-get install sysbench"
        self.kind = kind
        make = MariaDB if kind == "mysql" else lambda: Postgres(local_binaries()[0].folder)
        self.servers: list[Any] = [make()]
        try:
            self.servers.append(make())
            for server in self.servers:
                self.ask(server, "create table written (id int)")
                self.ask(server, "create table seen (id int)")
        except BaseException:
            self.remove()
            raise

    def ask(self, server: Any, sql: str) -> list[tuple[Any, ...]]:
        place = {"database": "load_test"} if self.kind == "mysql" else {}
        with server.connect(**place) as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            if self.kind == "mysql":
                connection.commit()
            return list(cursor.fetchall()) if cursor.description else []

    def rows(self) -> list[tuple[int, int]]:
        """Rows written and seen, on each server."""
        query = "select (select count(*) from written), (select count(*) from seen)"
        return [self.ask(server, query)[0] for server in self.servers]

    def empty(self) -> None:
        for server in self.servers:
            self.ask(server, "delete from written")
            self.ask(server, "delete from seen")

    def options(self, servers: Sequence[Any], user: str = "") -> list[str]:
        """Return the options by which sysbench connects to these servers."""
        user = user or {"mysql": "loader", "pgsql": "postgres"}[self.kind]
        if self.kind == "mysql":
            sockets = ",".join(str(server.socket_path) for server in servers)
            return [f"--mysql-socket={sockets}", f"--mysql-user={user}", "--mysql-db=load_test"]
        folders = ",".join(str(server.folder) for server in servers)
        ports = ",".join(str(server.port) for server in servers)
        places = [f"--pgsql-host={folders}", f"--pgsql-port={ports}"]
        return ["--db-driver=pgsql", *places, f"--pgsql-user={user}", "--pgsql-db=postgres"]

    def sessions(self) -> int:
        """Sessions of clients on both servers, but for those that count them."""
        query = {
            "mysql": "select count(*) from information_schema.processlist where user = 'loader'",
            "pgsql": "select count(*) from pg_stat_activity where backend_type = 'client backend' "
            "and pid <> pg_backend_pid()",
        }[self.kind]
        return sum(self.ask(server, query)[0][0] for server in self.servers)

    def remove(self) -> None:
        for server in self.servers:
            server.remove()


@pytest.fixture(scope="module", params=["mysql", "pgsql"])
def both(request: pytest.FixtureRequest) -> Iterator[Pair]:
    pair = Pair(request.param)
    yield pair
    pair.remove()


@pytest.fixture
def pair(both: Pair, home: Path) -> Pair:
    both.empty()
    return both


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "writer_and_reader.lua"
    path.write_text(WRITER_AND_READER)
    return path


def run(script: Path, *options: str, of_sysbench: Sequence[str]) -> int:
    return main(["run", str(script), *options, *CALM, "--", *of_sysbench])


def test_as_many_rows_as_in_sysbench(
    pair: Pair, script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    several = pair.servers if pair.kind == "mysql" else pair.servers[:1]
    options = [*pair.options(several), "--threads=1", f"--events={EVENTS}", "--time=0"]
    subprocess.run(["sysbench", script, *options, "run"], check=True, timeout=PATIENCE_S)
    expected = pair.rows()
    pair.empty()
    assert run(script, of_sysbench=options) in ENDED, capfd.readouterr()
    assert pair.rows() == expected
    assert sum(written for written, _ in expected) == EVENTS
    wait_until(lambda: pair.sessions() == 0, "the end of all sessions")


def test_each_connection_has_its_own_statements_and_server(
    pair: Pair, script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    places = pair.options(pair.servers)
    options = ["-c", "2", "-t", str(EVENTS), "--json"]
    assert run(script, *options, of_sysbench=places) in ENDED
    record = json.loads(capfd.readouterr().out)
    first, second = record["target"], record["further_targets"][0]
    assert str(pair.servers[0].folder) in first
    assert str(pair.servers[1].folder) in second
    counts = {
        (one["connection"], one["server"]): one["count"]
        for one in record["statements"]
        if one["sql"].startswith("insert into written")
    }
    # Each client begins with the next server.
    assert counts == {(0, 0): EVENTS, (0, 1): EVENTS}
    seen = [one for one in record["statements"] if one["sql"].startswith("insert into seen")]
    assert {(one["connection"], one["server"]) for one in seen} == {(1, 0), (1, 1)}
    assert sum(one["count"] for one in seen) == 2 * EVENTS
    # Committed and rolled back, by the worst of a transaction's two blocks.
    ended = record["transactions"]
    assert (ended["committed"], ended["rolled_back"]) == (2 * EVENTS * 3 // 4, 2 * EVENTS // 4)
    assert pair.rows()[0][0] == pair.rows()[1][0] == EVENTS
    assert main(["report", record["run_id"]]) == Exit.OK
    page = html.unescape(Path(capfd.readouterr().out.strip()).read_text())
    assert "connection 1, server 1: insert into seen" in page
    assert f"server 1 is {second}; only server 0 was observed" in page
    query = "select connection, server, count(*) from statement_texts group by all order by all"
    assert main(["sql", query, "--json"]) == Exit.OK
    rows = json.loads(capfd.readouterr().out)["rows"]
    assert [row[:2] for row in rows] == [[0, 0], [0, 1], [1, 0], [1, 1]]


@contextmanager
def killed(pair: Pair, server: Any) -> Iterator[None]:
    """Kill the server once rows have come, and start it again."""

    def kill() -> None:
        wait_until(lambda: pair.ask(server, "select count(*) from seen")[0][0] > 5, "rows")
        server.kill()
        server.start()

    killer = threading.Thread(target=kill)
    killer.start()
    yield
    killer.join()


def test_when_one_server_is_killed_all_connections_of_its_client_are_made_anew(
    pair: Pair, script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # The reader stays on the second server, which is killed; none begins without it.
    script.write_text(WRITER_AND_READER.replace("events % 5 == 0", "false"))
    options = ["-c", "1", "-t", "300", "--think", "5ms", "--json"]
    with killed(pair, pair.servers[1]):
        assert run(script, *options, of_sysbench=pair.options(pair.servers)) in ENDED
    record = json.loads(capfd.readouterr().out)
    ended = record["transactions"]
    assert ended["ok"] + ended["failed"] == 300
    assert {failure["class"] for failure in record["failures"]} <= {"connection"}
    (written, _), (_, seen) = pair.rows()
    # What had been written when the reader was lost is known to its own server alone.
    assert ended["ok"] <= written <= 300
    assert seen > 0
    assert main(["sql", "select connections_lost, seconds > 0 from outages", "--json"]) == Exit.OK
    assert json.loads(capfd.readouterr().out)["rows"] == [[1, True]]
    wait_until(lambda: pair.sessions() == 0, "the end of all sessions")


@pytest.fixture
def limited(pair: Pair) -> Iterator[str]:
    """A role that may have two sessions on a server: ours, and the load's first."""
    made, dropped = {
        "mysql": (
            ["create user limited with max_user_connections 2", "grant all on *.* to limited"],
            ["drop user limited"],
        ),
        "pgsql": (
            [
                "create role limited login connection limit 2",
                "grant all on written, seen to limited",
            ],
            ["drop owned by limited", "drop role limited"],
        ),
    }[pair.kind]
    for server in pair.servers:
        for sql in made:
            pair.ask(server, sql)
    yield "limited"
    for server in pair.servers:
        for sql in dropped:
            pair.ask(server, sql)


REFUSED = {"mysql": "max_user_connections", "pgsql": "too many connections for role"}


def test_too_many_connections_before_the_load_are_an_error(
    pair: Pair, script: Path, limited: str, capfd: pytest.CaptureFixture[str]
) -> None:
    places = pair.options(pair.servers[:1], user=limited)
    assert run(script, "-c", "1", "-t", "3", of_sysbench=places) == Exit.NOTHING_RUN
    assert REFUSED[pair.kind] in capfd.readouterr().err


def test_a_connection_that_the_server_refuses_fails_the_transaction_that_opens_it(
    pair: Pair, script: Path, limited: str, capfd: pytest.CaptureFixture[str]
) -> None:
    script.write_text("""
        function thread_init()
           drv = sysbench.sql.driver()
           con = drv:connect()
        end
        function event()
           con:query("select 1")
           local other = drv:connect()
           other:disconnect()
        end
    """)
    places = pair.options(pair.servers[:1], user=limited)
    options = ["-c", "1", "-t", "3", "--json"]
    assert run(script, *options, of_sysbench=places) in ENDED
    record = json.loads(capfd.readouterr().out)
    (failure,) = record["failures"]
    assert (failure["class"], failure["count"]) == ("resource", 3)
    assert REFUSED[pair.kind] in failure["message"]
    assert record["transactions"]["ok"] == 0
