"""Servers for the engine's tests, and the log of an engine."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from dbdyno.databases.postgresql.server.binaries import embedded_binaries, local_binaries
from dbdyno.model.frame import Connected
from dbdyno.model.plan import Endpoint, Plan
from tests.engine.certificates import make_certificates
from tests.engine.mariadb import MariaDB
from tests.engine.postgres import Postgres
from tests.engine.running import EngineRun, Happening, plan_for, run, times

Run = Callable[..., EngineRun]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[IO[str]]:
    with (tmp_path / "engine.log").open("w+") as file:
        yield file


@pytest.fixture
def checked(log: IO[str]) -> Run:
    """Runs a plan to its end and checks what holds for every run."""

    def go(plan: Plan, during: Happening | None = None) -> EngineRun:
        result = run(plan, log, during)
        result.check()
        return result

    return go


@pytest.fixture
def refused(log: IO[str]) -> Run:
    """Runs a plan that cannot start, and returns the reason."""
    return lambda plan: run(plan, log).failed


def start(folder: Path, **settings: str) -> Iterator[Postgres]:
    server = Postgres(folder, **settings)
    yield server
    server.remove()


@pytest.fixture(scope="session")
def local() -> Iterator[Postgres]:
    """A server that supports at most protocol 3.0."""
    settings = {"listen_addresses": "127.0.0.1,::1", "max_prepared_transactions": "4"}
    yield from start(local_binaries()[0].folder, **settings)


@pytest.fixture(scope="session")
def newest() -> Iterator[Postgres]:
    """A server that supports protocol 3.2."""
    yield from start(embedded_binaries()[0].folder)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    """A server with the other protocol."""
    server = MariaDB()
    yield server
    server.remove()


@pytest.fixture(params=["local", "newest"])
def each_server(request: pytest.FixtureRequest) -> Postgres:
    server: Postgres = request.getfixturevalue(request.param)
    return server


@pytest.fixture(params=["uring", "epoll"])
def io(request: pytest.FixtureRequest) -> str:
    """Each kernel interface in turn."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def greeting(checked: Run) -> Callable[..., str]:
    """Return the TLS version and cipher that the engine reports, after a successful run."""

    def go(endpoint: Endpoint, **changes: Any) -> str:
        result = checked(plan_for(endpoint, "select 1;", **times(3), **changes))
        assert result.counters.ok == 6
        return result.one(Connected).tls

    return go
