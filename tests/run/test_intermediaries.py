"""Proxies in front of servers, and poolers that cannot be had here: what of them is seen."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from dbdyno.databases.connecting import inspecting
from dbdyno.databases.intermediary import UNIX_SOCKET, Ends, Place, between, with_mode
from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.model.record import IntermediaryRecord
from dbdyno.report.verdict import intermediaries
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.tools import engine_tools
from dbdyno.servers.base import Server
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
from dbdyno.store.run import open_run
from tests.conftest import SMALL_INNODB
from tests.engine.postgres import Postgres
from tests.engine.proxies import forward_to, listening_tcp
from tests.run.test_runner import Observer
from tests.support.running import run

SECOND_NS = 1_000_000_000
BUSY = "do benchmark(200000, sha1('a'));\n"
OFFSET = 1


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    server = Postgres(local_binaries()[0].folder)
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Server]:
    with start_private(
        ServerSpec("mariadb", settings=SMALL_INNODB), connections=20, tcp=True
    ) as server:
        with server.connect() as connection:
            connection.execute("create user clerk@'%'")
            connection.execute("grant all on *.* to clerk@'%'")
        yield server


def port_of(server: Server) -> int:
    address = server.endpoint().address.tcp
    assert address
    return address.port


def seen_at(target: str) -> IntermediaryRecord | None:
    with inspecting(target) as (driver, connection):
        return driver.intermediary(target, connection)


def another_number(data: bytes) -> bytes:
    """A greeting of MySQL's protocol with another session number, as ProxySQL's has."""
    if len(data) < 20 or data[3:5] != b"\x00\x0a":
        return data
    at = data.index(b"\0", 5) + 1
    number = int.from_bytes(data[at : at + 4], "little") + OFFSET
    return data[:at] + number.to_bytes(4, "little") + data[at + 4 :]


def as_proxysql(data: bytes) -> bytes:
    """The same, with a version of its own, of the same length."""
    if len(data) < 20 or data[3:5] != b"\x00\x0a":
        return data
    end = data.index(b"\0", 5)
    return another_number(data[:5] + b"8.0.30-proxysql".ljust(end - 5, b"-") + data[end:])


def test_a_relay_of_bytes_is_a_proxy_and_no_pooler(postgres, mariadb):
    servers = {
        "postgresql://postgres@127.0.0.1:{}/postgres": postgres.port,
        "mysql://clerk@127.0.0.1:{}/dbdyno": port_of(mariadb),
    }
    for target, port in servers.items():
        assert seen_at(target.format(port)) is None
        with listening_tcp(forward_to(port)) as address:
            found = seen_at(target.format(address.tcp.port))
        assert (found.kind, found.mode, found.product) == ("proxy", None, "")
        assert len(found.seen) == 1
        assert found.seen[0].startswith("the server sees a client at 127.0.0.1:")


def test_a_relay_from_a_port_to_a_unix_socket_is_seen(postgres):
    socket = postgres.folder / f".s.PGSQL.{postgres.port}"
    with listening_tcp(forward_to(socket)) as address:
        found = seen_at(f"postgresql://postgres@127.0.0.1:{address.tcp.port}/postgres")
    assert found.kind == "proxy"
    assert found.seen[0].startswith("the server sees a client at a Unix socket, and our end is 127")


def measured(target, script, **changes):
    options = RunOptions(
        target=target,
        clients=2,
        duration_ns=2 * SECOND_NS,
        warmup_ns=0,
        failures_max=1.0,
        disturbance_max=1.0,
        **changes,
    )
    return run([WeightedName(str(script), 1)], options, engine_tools(), Observer()).record


def test_behind_a_proxy_sessions_are_known(home, mariadb, tmp_path):
    script = tmp_path / "busy.sql"
    script.write_text(BUSY)
    with listening_tcp(forward_to(port_of(mariadb))) as address:
        record = measured(f"mysql://clerk@127.0.0.1:{address.tcp.port}/dbdyno", script)
    (found,) = record.intermediaries
    assert (found.kind, found.target) == ("proxy", record.target)
    (said,) = intermediaries(record)
    assert "not known" not in said
    waits = open_run("last").columns("waits")
    assert "client" in set(waits["who"][waits["state"] == "active"])


def test_behind_a_pooler_numbers_that_meet_by_chance_are_not_believed(home, mariadb, tmp_path):
    """The pooler's numbers are one more than the server's: each is that of another client."""
    script = tmp_path / "busy.sql"
    script.write_text(BUSY)
    with listening_tcp(forward_to(port_of(mariadb), another_number)) as address:
        record = measured(f"mysql://clerk@127.0.0.1:{address.tcp.port}/dbdyno", script)
    (found,) = record.intermediaries
    assert (found.kind, found.mode) == ("pooler", "session")
    waits = open_run("last").columns("waits")
    assert "client" not in set(waits["who"][waits["state"] == "active"])
    (said,) = intermediaries(record)
    assert "which session of the server works for which client is not known" in said
    assert record.server["cpu_us_per_transaction"] > 0
    kinds = {part.processes for part in record.server_processes}
    assert not kinds & {"clients' sessions", "other sessions"}


def test_proxysql_is_named_by_its_greeting(mariadb):
    with listening_tcp(forward_to(port_of(mariadb), as_proxysql)) as address:
        found = seen_at(f"mysql://clerk@127.0.0.1:{address.tcp.port}/dbdyno")
    assert (found.kind, found.product) == ("pooler", "ProxySQL")
    assert any("the greeting was of version 8.0.30-proxysql" in one for one in found.seen)


@pytest.mark.parametrize(
    ("ends", "ours", "kind"),
    [
        (Ends(announced=7, serving=7, client=Place("10.0.0.1", 5)), Place("10.0.0.1", 5), None),
        (Ends(announced=7, serving=7, client=None), Place("10.0.0.1", 5), None),
        (
            Ends(announced=7, serving=7, client=Place("10.0.0.1", 5)),
            Place("::ffff:10.0.0.1", 5),
            None,
        ),
        (Ends(announced=7, serving=7, client=Place("db1.test", 5)), Place("10.0.0.1", 5), None),
        (Ends(announced=7, serving=7, client=Place("db1.test", 6)), Place("10.0.0.1", 5), "proxy"),
        (Ends(announced=7, serving=7, client=Place("10.0.0.2", 5)), Place("10.0.0.1", 5), "proxy"),
        (Ends(announced=7, serving=7, client=UNIX_SOCKET), UNIX_SOCKET, None),
        (Ends(announced=7, serving=8, client=None), UNIX_SOCKET, "pooler"),
    ],
)
def test_what_lies_between_is_what_differs(ends, ours, kind):
    found = between(ends, ours)
    assert (found.kind if found else None) == kind


class Lent:
    """A connection through a pooler that takes transactions."""

    closed = False

    def execute(self, _statement: str) -> None:
        """Take every statement."""

    def close(self) -> None:
        """Leave."""


def lending(order: Callable[[list[int]], int]) -> Callable[[Lent], int]:
    """Lend one of three sessions for each request: the idle one that ``order`` chooses."""
    idle = [101, 102, 103]

    def serve(_connection: Lent) -> int:
        session = idle.pop(order(idle))
        idle.append(session)
        return session

    return serve


@pytest.mark.parametrize("order", [lambda idle: -1, lambda idle: 0, lambda idle: len(idle) // 2])
def test_lent_sessions_are_noticed_whichever_is_lent_next(order):
    pooler = IntermediaryRecord(target="", kind="pooler")
    found = with_mode(pooler, Lent(), Lent, lending(order), lambda first, second: True)
    assert (found.mode, found.keeps_prepared) == ("transaction", True)
    assert "requests of" in found.seen[-1]


def test_sessions_of_their_own_are_session_mode():
    numbers = itertools.count(1)
    own: dict[Lent, int] = {}
    pooler = IntermediaryRecord(target="", kind="pooler")
    found = with_mode(
        pooler,
        Lent(),
        Lent,
        lambda connection: own.setdefault(connection, next(numbers)),
        lambda first, second: pytest.fail("there is nothing to ask"),
    )
    assert (found.mode, found.keeps_prepared) == ("session", True)
