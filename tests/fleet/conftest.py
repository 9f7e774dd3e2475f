"""A server for loads that agents share, and what it was sent."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from dbdyno.databases.postgresql.server.binaries import local_binaries
from tests.engine.postgres import Postgres


@pytest.fixture(scope="session")
def local() -> Iterator[Postgres]:
    server = Postgres(local_binaries()[0].folder)
    yield server
    server.remove()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[IO[str]]:
    with (tmp_path / "engine.log").open("w+") as file:
        yield file
