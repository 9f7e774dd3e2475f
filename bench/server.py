"""The server that both tools are measured on."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench.tools import Place
from dbdyno.servers.base import Server
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec

CONNECTIONS = 2100


@contextmanager
def bench_server() -> Iterator[tuple[Server, Place, Place]]:
    """A private server of this machine, by Unix socket and by TCP."""
    with (
        tempfile.TemporaryDirectory(prefix="dbdyno-bench-") as home,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("DBDYNO_HOME", home)
        with start_private(ServerSpec(), connections=CONNECTIONS, tcp=True) as server:
            # Both tools find it where libpq looks.
            patch.setenv("PGPASSWORD", server.endpoint().password or "")
            yield server, *_places(server)


def _places(server: Server) -> tuple[Place, Place]:
    """Its Unix socket and its TCP port, as it tells them itself."""
    with server.connect() as connection:
        row = connection.execute(
            "select current_setting('unix_socket_directories'), current_setting('port')"
        ).fetchone()
    assert row is not None
    return Place(row[0], int(row[1])), Place("127.0.0.1", int(row[1]))
