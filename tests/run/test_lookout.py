"""What the preparation of data waits for is reported, with who causes it where the server tells."""

import threading
from collections.abc import Callable

import pytest

from dbdyno.errors import DbdynoError
from dbdyno.run.connected_server import connect_to
from dbdyno.run.data_preparation import lookout
from dbdyno.servers.base import Server
from tests.support.patience import wait_until

SOON_S = 0.2


def lines_while_dropping(server: Server) -> list[str]:
    """Return what is reported while a transaction that has read the table stays open."""
    told = threading.Event()
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        told.set()

    with connect_to(server) as connected, server.connect() as holder:
        holder.execute("create table wanted (id int primary key)")
        holder.execute("begin")
        holder.execute("select id from wanted")

        def end_soon() -> None:
            told.wait(60)
            holder.execute("rollback")

        ending = threading.Thread(target=end_soon)
        with lookout(connected, say, SOON_S):
            ending.start()
            connected.control.execute("drop table wanted")
            ending.join()
    return lines


def test_a_lock_on_postgresql(database: Server) -> None:
    (line,) = lines_while_dropping(database)
    assert line.startswith("still waiting for Lock relation: drop table wanted (blocked by session")
    assert line.endswith("idle in transaction: select id from wanted)")


def test_a_lock_on_mariadb(
    mariadb_server: Server, new_database: Callable[[Server], Server]
) -> None:
    (line,) = lines_while_dropping(new_database(mariadb_server))
    assert line.startswith("still waiting for Lock table metadata: drop table wanted")


def test_a_server_that_works_is_not_reported(database: Server) -> None:
    lines: list[str] = []
    with connect_to(database) as connected, lookout(connected, lines.append, SOON_S):
        connected.control.execute(
            "select count(*) from generate_series(1, 3000) a, generate_series(1, 3000) b"
        )
    assert lines == []


def test_no_look_is_no_harm(database: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = threading.Event()

    def refused(_server: Server) -> None:
        looks.set()
        raise DbdynoError("too_many_connections", "sorry, too many clients already")

    with connect_to(database) as connected:
        monkeypatch.setattr(Server, "connect", refused)
        with lookout(connected, pytest.fail, SOON_S):
            wait_until(looks.is_set, "a look")
            assert connected.control.execute("select 1").fetchone() == (1,)
