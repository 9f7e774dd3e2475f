"""Real servers for tests: each session has its own home and stops every server that it started."""

import itertools
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from playwright.sync_api import Browser, sync_playwright
from psycopg import Connection
from psycopg.conninfo import make_conninfo

from dbdyno.databases.mysql.driver.login import login_of
from dbdyno.databases.mysql.driver.url import login_url
from dbdyno.databases.postgresql.server.binaries import embedded_binaries, local_binaries
from dbdyno.servers.base import Server
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
from tests.support.endpoints import endpoint_at
from tests.support.patience import PATIENCE_S
from tests.support.watchman import watch

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
SMALL = {"shared_buffers": "64MB", "max_wal_size": "256MB", "maintenance_work_mem": "64MB"}
SMALL_INNODB = {"innodb_buffer_pool_size": "64M", "innodb_log_file_size": "64M"}
# Test databases live for seconds. With its default interval of one minute, autovacuum could process
# one during its test: rows counted as dead would be gone, unfrozen pages frozen.
UNVISITED = {"autovacuum_naptime": "1d"}
DATABASES = itertools.count(1)
"""Numbers of databases: one that could not be dropped is in no other test's way."""


@pytest.fixture(autouse=True, scope="session")
def _session_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test writes to the user's own home, and a busy host makes no run invalid.

    Tests run beside each other: whether a disturbed run is valid is asked by those about it alone.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBDYNO_MAX_DISTURBANCE", "100%")
        patch.setenv("DBDYNO_HOME", str(tmp_path_factory.mktemp("home")))
        for name in ("PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSWORD", "PGSERVICE"):
            patch.delenv(name, raising=False)
        for name in ("MYSQL_HOST", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "MYSQL_PWD", "MYSQL_HOME"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a process: a second one could not be driven beside it."""
    chromium = shutil.which("chromium")
    assert chromium, (
        "chromium is not on the PATH: install the package chromium (apt-get install chromium)"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=CHROMIUM_ARGUMENTS, timeout=PATIENCE_S * 1000
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    path = Path(__file__).parents[1] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
    assert path.is_file(), "axe-core is not installed: run npm ci in frontend/"
    return path.read_text(encoding="utf-8")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home for a single test."""
    folder = tmp_path / "home"
    watch(folder)
    monkeypatch.setenv("DBDYNO_HOME", str(folder))
    return folder


@pytest.fixture
def default_disturbance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands are written as for users, who allow the default disturbance."""
    monkeypatch.delenv("DBDYNO_MAX_DISTURBANCE")


@pytest.fixture
def own_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """``main()`` installs signal handlers; the test process keeps its own."""
    monkeypatch.setattr("dbdyno.cli.program.signal.signal", lambda *_: None)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """The default private server: the newest version on this host, otherwise the embedded one."""
    with start_private(ServerSpec(settings=SMALL | UNVISITED), connections=8) as server:
        yield server


@pytest.fixture(scope="session")
def embedded_server() -> Iterator[Server]:
    """The newest embedded PostgreSQL for tests, with its pgbench."""
    folder = embedded_binaries()[0].folder
    spec = ServerSpec(path=folder, settings=SMALL | UNVISITED)
    with start_private(spec, connections=8) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[Server]:
    """The MariaDB of this host."""
    with start_private(ServerSpec("mariadb", settings=SMALL_INNODB), connections=8) as server:
        yield server


@pytest.fixture(params=["local", "embedded"])
def any_server(request: pytest.FixtureRequest) -> Server:
    """Each server in turn."""
    if request.param == "local":
        assert local_binaries(), "install PostgreSQL: apt-get install postgresql"
    name = {"local": "postgres_server", "embedded": "embedded_server"}[request.param]
    server: Server = request.getfixturevalue(name)
    return server


@pytest.fixture
def new_database() -> Iterator[Callable[[Server], Server]]:
    """Creates databases for one test on shared servers."""
    made: list[tuple[Server, str]] = []

    def make(server: Server) -> Server:
        name = f"test_{next(DATABASES)}"
        with server.connect() as connection:
            connection.execute(f"create database {name}")
        made.append((server, name))
        conninfo = _in_database(server, name)
        return replace(server, conninfo=conninfo, resolved=endpoint_at(conninfo))

    yield make
    for server, name in made:
        force = " with (force)" if server.endpoint().protocol == "postgresql" else ""
        with server.connect() as connection:
            connection.execute(f"drop database {name}{force}")


def _in_database(server: Server, name: str) -> str:
    if server.endpoint().protocol == "postgresql":
        return make_conninfo(server.conninfo, dbname=name)
    login = login_of(server.conninfo)
    return login_url(structs.replace(login, database=name))


@pytest.fixture
def database(postgres_server: Server, new_database: Callable[[Server], Server]) -> Server:
    """An empty database on the default server."""
    return new_database(postgres_server)


@pytest.fixture
def connection(database: Server) -> Iterator[Connection]:
    """A control connection to the test's database."""
    with database.connect() as opened:
        yield opened
