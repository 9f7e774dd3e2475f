"""Servers that log every statement: what a session sent, without the values."""

import re
import subprocess
from collections.abc import Callable
from typing import ClassVar, Protocol

from dbdyno.databases.postgresql.server.binaries import local_binaries
from tests.engine.mariadb import MariaDB
from tests.engine.postgres import Postgres

_VALUE = re.compile(r"'(?:[^'\\]|\\.)*'|(?<![\w?$])-?\d+(?:\.\d+)?\b")


class LoggingServer(Protocol):
    """A server with a database for sysbench scripts."""

    url: str
    connection: tuple[str, ...]
    """The options by which sysbench connects to it."""

    def logged(self, act: Callable[[], None]) -> list[str]:
        """What the session that used the table most sent during ``act``."""

    def empty(self, table: str) -> None:
        """Deletes all rows of the table."""

    def tables(self) -> int:
        """The number of tables."""

    def remove(self) -> None:
        """Stops the server."""


def _busiest(statements: list[tuple[int, str, str]]) -> list[str]:
    # Control connections name it as well, to the catalog.
    sessions = [
        session for session, _, text in statements if "sbtest1" in text and "_schema." not in text
    ]
    assert sessions, statements
    busiest = max(sessions, key=sessions.count)
    return [
        f"{kind}: {_VALUE.sub('?', text)}"
        for session, kind, text in statements
        if session == busiest
    ]


class LoggingMariaDB:
    """MariaDB with the general log in a table."""

    _QUERY = """
        select thread_id, command_type, cast(argument as char) from mysql.general_log
        where user_host like '%loader%' and command_type in ('Query', 'Prepare', 'Execute')
        order by event_time"""

    def __init__(self) -> None:
        self._server = MariaDB(log_output="TABLE")
        path = self._server.socket_path
        self.url = f"mysql://loader@localhost/load_test?socket={path}"
        known = {"socket": path, "user": "loader", "db": "load_test"}
        self.connection = tuple(f"--mysql-{name}={value}" for name, value in known.items())

    def logged(self, act: Callable[[], None]) -> list[str]:
        self._server.execute("truncate mysql.general_log", "set global general_log = on")
        act()
        self._server.execute("set global general_log = off")
        return _busiest(list(self._server.execute(self._QUERY)))

    def empty(self, table: str) -> None:
        self._server.execute(f"truncate load_test.{table}")

    def tables(self) -> int:
        return len(self._server.execute("show tables"))

    def remove(self) -> None:
        self._server.remove()


class LoggingPostgres:
    """PostgreSQL that logs each message, with its duration, when it ends."""

    _SETTINGS: ClassVar = {
        "log_min_duration_statement": "0",
        "log_line_prefix": "%p|",
        "log_error_verbosity": "terse",
    }
    _LINE = re.compile(
        r"^(\d+)\|LOG:  duration: \S+ ms  (statement|parse|bind|execute)(?: \S+)?: (.*(?:\n\t.*)*)",
        re.MULTILINE,
    )

    def __init__(self) -> None:
        self._server = Postgres(local_binaries()[0].folder, **self._SETTINGS)
        place = self._server.folder
        self.url = f"postgresql://postgres@/postgres?host={place}&port={self._server.port}"
        known = {"host": place, "port": self._server.port, "user": "postgres", "db": "postgres"}
        named = (f"--pgsql-{name}={value}" for name, value in known.items())
        self.connection = ("--db-driver=pgsql", *named)

    def logged(self, act: Callable[[], None]) -> list[str]:
        log = self._server.folder / "log.txt"
        before = log.stat().st_size
        act()
        with log.open("rb") as file:
            file.seek(before)
            lines = self._LINE.findall(file.read().decode())
        return _busiest([(int(session), kind, text) for session, kind, text in lines])

    def empty(self, table: str) -> None:
        with self._server.connect() as connection:
            connection.execute(f"truncate {table}")

    def tables(self) -> int:
        with self._server.connect() as connection:
            query = "select count(*) from pg_tables where schemaname = 'public'"
            (count,) = connection.execute(query).fetchone()
            return count

    def remove(self) -> None:
        self._server.remove()


def sysbench(server: LoggingServer, script: str, command: str, *options: str) -> None:
    """Runs the real sysbench."""
    subprocess.run(
        ["sysbench", script, *server.connection, *options, command],
        check=True,
        capture_output=True,
        timeout=60,
    )
