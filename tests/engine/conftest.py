"""Servers that belong to the engine's tests, and the log of an engine."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from dbdyno.model.plan import Plan
from dbdyno.servers.postgresql.binaries import embedded_binaries, local_binaries
from tests.engine.mariadb import MariaDB
from tests.engine.postgres import Postgres
from tests.engine.running import Happening, Told, run

Run = Callable[..., Told]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[IO[str]]:
    with (tmp_path / "engine.log").open("w+") as file:
        yield file


@pytest.fixture
def checked(log: IO[str]) -> Run:
    """Runs a plan to its end and checks what holds for every run."""

    def go(plan: Plan, during: Happening | None = None) -> Told:
        told = run(plan, log, during)
        told.check()
        return told

    return go


@pytest.fixture
def refused(log: IO[str]) -> Run:
    """Runs a plan that cannot begin, and gives the reason."""
    return lambda plan: run(plan, log).failed


def start(folder: Path, **settings: str) -> Iterator[Postgres]:
    server = Postgres(folder, **settings)
    yield server
    server.remove()


@pytest.fixture(scope="session")
def local() -> Iterator[Postgres]:
    """A server that speaks protocol 3.0 at best."""
    yield from start(local_binaries()[0].folder, listen_addresses="127.0.0.1,::1")


@pytest.fixture(scope="session")
def newest() -> Iterator[Postgres]:
    """A server that speaks protocol 3.2."""
    yield from start(embedded_binaries()[0].folder)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    """A server of the other protocol."""
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
