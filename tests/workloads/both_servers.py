"""What tests of workloads do alike on PostgreSQL and MariaDB: load, ask, run the program."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from dbdyno import engine
from dbdyno.databases.adapters import native_adapter
from dbdyno.model.record import CheckRecord
from dbdyno.servers.base import Server
from dbdyno.servers.existing import use_existing
from dbdyno.workloads.base import Workload
from dbdyno.workloads.preparing import LoadOptions, Place, Prepared, prepare_data
from dbdyno.workloads.registry import find_workload

KINDS = ("postgres_server", "mariadb_server")
TPCC = find_workload("tpcc")


class Database:
    """A database of its own on one of the servers."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.target = native_adapter(server.endpoint().protocol)
        self.connection = server.connect()

    def prepare(
        self, workload: Workload, *, jobs: int = 1, replace: bool = False, **given: int
    ) -> Prepared:
        return prepare_data(
            workload,
            given,
            Place(self.target, self.connection, self.server.endpoint()),
            bulk=engine.load,
            options=LoadOptions(seed=11, jobs=jobs, replace=replace),
            watch=lambda _progress: None,
        )

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.connection.execute(query).fetchall()]

    def one(self, query: str) -> Any:
        ((value,),) = self.rows(query)
        return value

    def broken(self) -> dict[int, CheckRecord]:
        """The conditions of order entry that do not hold, by number."""
        found = TPCC.check_conditions(self.target, self.connection)
        assert [one.id for one in found] == [str(number) for number in range(1, 13)]
        return {int(one.id): one for one in found if not one.ok}


@contextmanager
def database_on(server: Server, name: str, options: str = "") -> Iterator[Database]:
    """A database of its own, which several tests share."""
    with closing(server.connect()) as connection:
        connection.execute(f"create database {name} {options}")
        database = Database(
            use_existing(re.sub(r"/(postgres|dbdyno)(?=\?)", f"/{name}", server.url))
        )
        with closing(database.connection):
            yield database
        connection.execute(f"drop database {name}")


def command(*arguments: str) -> tuple[int, dict[str, Any]]:
    words = [sys.executable, "-m", "dbdyno", *arguments, "--json"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert ended.stdout, ended.stderr
    return ended.returncode, json.loads(ended.stdout)
