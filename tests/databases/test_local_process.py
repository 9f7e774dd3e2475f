"""Process numbers of a server elsewhere, which other processes have here."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.databases.local_process import age_s, is_in_our_numbering
from dbdyno.databases.mysql.driver.place import process_id as of_mysql
from dbdyno.databases.postgresql.driver.place import process_id as of_postgresql
from dbdyno.servers.base import Server
from tests.support.patience import wait_until
from tests.support.program import Program

SESSION = "postgres: ann shop [local] idle"


class Answering:
    """A connection to a server that answers every query with the same row."""

    def __init__(self, *row: object, **known: Any) -> None:
        self._row = row
        self.__dict__.update(known)

    def execute(self, _query: str) -> "Answering":
        return self

    def fetchone(self) -> tuple[object, ...]:
        return self._row


@pytest.fixture
def decoy() -> Iterator[int]:
    """A process of this host that looks like a session of PostgreSQL."""
    with Program([SESSION, "60"], executable="/bin/sleep") as process:
        yield process.pid
        process.kill()


def test_a_session_is_known_by_when_it_began(decoy: int):
    """By the number that the server has for it: a pooler announces others."""

    class OfPostgresql(Answering):
        def execute(self, query: str) -> Answering:
            return Answering(decoy) if query == "select pg_backend_pid()" else self

    info = SimpleNamespace(backend_pid=os.getpid(), dbname="shop")

    def is_known() -> bool:
        """On a busy host, a second may pass between the question and the answer."""
        return of_postgresql(OfPostgresql(age_s(decoy), info=info)) == os.getpid()

    wait_until(is_known, "the session is known")
    age = age_s(decoy)
    assert age is not None
    assert of_postgresql(OfPostgresql(age + 3600, info=info)) is None
    elsewhere = SimpleNamespace(backend_pid=os.getpid(), dbname="x")
    assert of_postgresql(OfPostgresql(age, info=elsewhere)) is None


def test_a_server_is_known_by_when_it_began(mariadb_server: Server, tmp_path: Path):
    pid = mariadb_server.process_id
    assert pid is not None
    (tmp_path / "pid").write_text(f"{pid}\n")
    age = age_s(pid)
    assert age is not None

    class OfMariadb(Answering):
        def execute(self, query: str) -> Answering:
            answers = {"@@datadir": (str(tmp_path),), "@@pid_file": ("pid",)}
            return Answering(*answers.get(query.removeprefix("select "), self._row))

    by_tcp = {"server_pid": None, "address": SimpleNamespace(is_on_this_host=True)}
    assert of_mysql(OfMariadb("Uptime", str(int(age)), **by_tcp)) == pid
    assert of_mysql(OfMariadb("Uptime", str(int(age) + 3600), **by_tcp)) is None


def test_a_process_that_is_gone_is_none():
    with Program(["true"]) as process:
        process.wait()
    assert age_s(process.pid) is None
    assert not is_in_our_numbering(process.pid)
    assert is_in_our_numbering(os.getpid())
