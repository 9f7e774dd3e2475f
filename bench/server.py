"""The servers that both tools are measured on."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import pytest
from msgspec.structs import replace

from dbdyno.model.plan import Address, Endpoint, Protocol, UnixSocket
from dbdyno.servers.base import Server
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import Kind, ServerSpec

# Of all tools that are connected at the same time.
CONNECTIONS: Mapping[Kind, int] = {"postgres": 4600, "mariadb": 4600}
_SESSIONS: Mapping[Protocol, str] = {
    "postgresql": "select count(*) from pg_stat_activity where datname = %s",
    "mysql": "select count(*) from information_schema.processlist where db = %s",
}

Way = Literal["socket", "TCP"]


@dataclass(frozen=True)
class BenchServer:
    """A private server on this host, and the endpoints that reach it."""

    server: Server
    ways: Mapping[Way, Endpoint]

    @property
    def socket(self) -> Endpoint:
        """The endpoint that every kind of server has."""
        return self.ways["socket"]

    def endpoint(self, way: Way, database: str) -> Endpoint:
        """An endpoint for one of its databases."""
        return replace(self.ways[way], database=database)

    def create(self, database: str) -> None:
        """Creates a database."""
        with self.server.connect() as connection:
            connection.execute(f"create database {database}")

    def sessions_in(self, database: str) -> int:
        """How many sessions use a database."""
        with self.server.connect() as connection:
            statement = _SESSIONS[self.socket.protocol]
            [[count]] = connection.execute(statement, (database,)).fetchall()
        return int(count)


@contextmanager
def bench_server(kind: Kind) -> Iterator[BenchServer]:
    """A server with enough connections for every case, and a DBDYNO_HOME for the runs on it."""
    with (
        tempfile.TemporaryDirectory(prefix="dbdyno-bench-") as home,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("DBDYNO_HOME", home)
        by_tcp = kind == "postgres"
        with start_private(ServerSpec(kind), CONNECTIONS[kind], tcp=by_tcp) as server:
            endpoint = server.endpoint()
            if by_tcp:
                # libpq reads it in both tools.
                patch.setenv("PGPASSWORD", endpoint.password or "")
                yield BenchServer(server, {"socket": _by_socket(server), "TCP": endpoint})
            else:
                yield BenchServer(server, {"socket": endpoint})


def _by_socket(server: Server) -> Endpoint:
    """The Unix socket of a PostgreSQL that also listens on TCP, as the server reports it."""
    with server.connect() as connection:
        row = connection.execute(
            "select current_setting('unix_socket_directories'), current_setting('port')"
        ).fetchone()
    assert row is not None
    address = Address(unix=UnixSocket(path=f"{row[0]}/.s.PGSQL.{row[1]}"))
    return replace(server.endpoint(), address=address)
