"""The server that both tools are measured on."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
            address = server.endpoint().address
            path = Path(address.unix.path)  # type: ignore[union-attr]
            port = int(path.suffix[1:])
            yield server, Place(str(path.parent), port), Place("127.0.0.1", port)
