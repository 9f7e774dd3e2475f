"""Whichever statement of ours fails, and however, the command ends with an error of dbdyno's.

The statements are those that a command sends over its control connections on a real server: a new
one is part of the test by itself.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pymysql
import pytest

from dbdyno.cli import main
from dbdyno.databases.mysql.driver.connection import MysqlConnection
from dbdyno.servers.base import Server

SHORT = ("-c", "1", "-t", "3", "--warmup", "0")
COMMANDS = {
    "load": ("load", "volume", "-D", "rows=1000", "--seed", "1", "--replace"),
    "check": ("check", "volume"),
    "run": ("run", "volume", *SHORT, "--telemetry", "off", "--check"),
}


class Statements:
    """Those that were sent, and which of them goes wrong."""

    def __init__(self) -> None:
        self.seen: dict[str, None] = {}
        self.wrong = ""
        self.has_gone_wrong = False

    def goes_wrong(self, statement: object) -> bool:
        """Whether this one does: the first of its text."""
        self.seen[str(statement)] = None
        if self.has_gone_wrong or str(statement) != self.wrong:
            return False
        self.has_gone_wrong = True
        return True


def lose_postgresql(connection: Any, administrator: Any) -> None:
    administrator.execute("select pg_terminate_backend(%s, 1000)", [connection.info.backend_pid])


def lose_mariadb(connection: Any, administrator: Any) -> None:
    with contextlib.suppress(pymysql.Error):
        administrator.execute(f"kill connection {connection._driver.thread_id()}")


@pytest.fixture(params=["postgres_server", "mariadb_server"])
def server(request: pytest.FixtureRequest, new_database: Callable[[Server], Server]) -> Server:
    return new_database(request.getfixturevalue(request.param))


@pytest.fixture(params=["lost", "refused"])
def statements(
    request: pytest.FixtureRequest, server: Server, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Statements]:
    is_postgresql = server.endpoint().protocol == "postgresql"
    kind: Any = psycopg.Connection if is_postgresql else MysqlConnection
    lose = lose_postgresql if is_postgresql else lose_mariadb
    said = Statements()
    execute = kind.execute
    with server.connect() as administrator:

        def executed(connection: Any, statement: Any, *given: Any, **how: Any) -> Any:
            if connection is administrator or not said.goes_wrong(statement):
                return execute(connection, statement, *given, **how)
            if request.param == "refused":
                return execute(connection, "select no_such_column")
            lose(connection, administrator)
            return execute(connection, statement, *given, **how)

        monkeypatch.setattr(kind, "execute", executed)
        yield said
        monkeypatch.undo()


@pytest.mark.usefixtures("home", "own_signals")
@pytest.mark.parametrize("command", COMMANDS)
def test_no_error_of_a_driver_leaves_a_command(
    command: str,
    server: Server,
    statements: Statements,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = ("--target", server.conninfo)
    assert main([*COMMANDS["load"], *target]) == 0
    statements.seen.clear()
    assert main([*COMMANDS[command], *target]) in {0, 3}
    assert len(statements.seen) > 5
    for wrong in list(statements.seen):
        # What the last one has interrupted would be continued, with fewer statements.
        statements.wrong = ""
        assert main([*COMMANDS["load"], *target]) == 0
        statements.wrong = wrong
        statements.has_gone_wrong = False
        capsys.readouterr()
        code = main([*COMMANDS[command], *target])
        said = capsys.readouterr().err
        assert statements.has_gone_wrong, wrong
        assert code in {0, 3} or "error: " in said, (wrong, code, said)
        assert "Traceback" not in said, wrong
        if code in {1, 2}:
            assert "cannot " in said, (wrong, said)


@pytest.mark.usefixtures("home", "own_signals")
def test_nor_does_an_answer_that_the_driver_cannot_read(
    mariadb_server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(_driver: object, *, unbuffered: bool = False) -> int:
        raise IndexError("index out of range")

    execute = MysqlConnection.execute

    def executed(connection: MysqlConnection, statement: str, *given: Any) -> Any:
        if "information_schema" in statement:
            monkeypatch.setattr(pymysql.Connection, "_read_query_result", read)
        return execute(connection, statement, *given)

    monkeypatch.setattr(MysqlConnection, "execute", executed)
    assert main(["check", "volume", "--target", mariadb_server.conninfo]) == 1
    assert "the driver cannot read the server's answer: index out of range" in (
        capsys.readouterr().err
    )
