"""A server of each kind that is killed, stopped and cut off, and runs that live through that."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.store.run import open_run
from tests.engine.mariadb import MariaDB
from tests.engine.postgres import Postgres
from tests.reliability.matrix import ROWS
from tests.run.test_end_to_end import begin
from tests.run.test_interrupts import servers_left, wait_for
from tests.support.patience import PATIENCE_S

CONNECTIONS_MAX = "40"
MAKE = {
    "postgresql": lambda: Postgres(
        local_binaries()[0].folder, max_connections=CONNECTIONS_MAX, listen_addresses="127.0.0.1"
    ),
    "mariadb": lambda: MariaDB(max_connections=CONNECTIONS_MAX),
}
AnyServer = Postgres | MariaDB
SOON = ("--stall-limit", "2s")


def url_of(server: AnyServer, port: int | None = None, **options: str) -> str:
    """The URL of a server's database, at this port of loopback if another program forwards it."""
    is_postgres = isinstance(server, Postgres)
    start = "postgresql://postgres" if is_postgres else "mysql://loader"
    database = "postgres" if is_postgres else "load_test"
    query = "&".join(
        f"{name.replace('_', '-') if not is_postgres else name}={value}"
        for name, value in options.items()
    )
    return f"{start}@127.0.0.1:{port or server.port}/{database}?{query}".rstrip("?")


@pytest.fixture(scope="package", params=MAKE)
def a_server(request: pytest.FixtureRequest) -> Iterator[AnyServer]:
    """PostgreSQL and MariaDB in turn."""
    server = MAKE[request.param]()
    yield server
    server.remove()


@pytest.fixture
def server(a_server: AnyServer) -> Iterator[AnyServer]:
    """A server that may be killed, stopped or crowded."""
    yield a_server
    a_server.recover()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A load that takes little of the host: others are tested at the same time."""
    path = tmp_path / "one.sql"
    path.write_text("select 1;\n\\sleep 5 ms")
    return path


@pytest.fixture
def suffer(home: Path, script: Path) -> Callable[..., None]:
    """Make a run to which something happens, and compare its end with its row of the page."""

    def go(fault: str, url: str, happen: Callable[[], None], *options: str) -> None:
        command = ("run", script, "--target", url, "-c", "4", "--warmup", "0", *options)
        with begin(*command) as process:
            wait_for("measure", process)
            happening = threading.Thread(target=happen)
            happening.start()
            out, err = process.communicate(timeout=PATIENCE_S)
            happening.join()
        ROWS[fault].is_met_by(process.returncode, f"{err}\n{out}")
        run = open_run("last")
        kept = int(run.columns("intervals")["completed_ok"].sum())
        assert run.record.transactions is not None
        assert run.record.transactions.ok >= kept > 0
        assert servers_left(home) == []

    return go
