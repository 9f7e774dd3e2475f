"""Data for tests: loaded by dbdyno, or made by pgbench itself."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from psycopg import Connection

from dbdyno.databases.adapters import all_adapters
from dbdyno.databases.postgresql.server.binaries import embedded_binaries
from dbdyno.model.frame import Loaded, Progress
from dbdyno.model.plan import LoadPlan
from dbdyno.servers.base import Server
from dbdyno.workloads.loading import LoadProgress
from dbdyno.workloads.parameters import Value
from dbdyno.workloads.preparing import LoadOptions, Place, Prepared, prepare_data
from dbdyno.workloads.registry import find_workload
from tests.workloads.bulk import load_slowly

Prepare = Callable[..., Prepared]


@pytest.fixture
def prepare(database: Server, connection: Connection) -> Prepare:
    """Prepares a workload's data in the test's own database."""
    return preparer(database, connection)


def preparer(server: Server, connection: Connection) -> Prepare:
    place = Place(all_adapters()["postgresql"], connection, server.endpoint())

    def run(
        name: str,
        *,
        replace: bool = False,
        jobs: int = 1,
        bulk: Callable[[LoadPlan], Any] = load_slowly,
        watch: Callable[[LoadProgress], None] = lambda _progress: None,
        **given: Value,
    ) -> Prepared:
        return prepare_data(
            find_workload(name),
            given,
            place,
            bulk=bulk,
            options=LoadOptions(seed=1, jobs=jobs, replace=replace),
            watch=watch,
        )

    return run


def no_rows(_plan: LoadPlan) -> list[Progress | Loaded]:
    """A loader that loads nothing, for tests of everything but the rows."""
    return []


def run_pgbench(server: Server, *arguments: str) -> str:
    """Runs pgbench of the newest version that the tests have; returns its output."""
    program = embedded_binaries()[0].folder / "pgbench"
    result = subprocess.run(
        [program, *arguments, server.conninfo],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
