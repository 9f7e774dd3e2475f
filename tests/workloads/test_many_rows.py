"""Runs that read only some rows of large tables, or none, and what they still detect.

The number from which this applies takes long to load: here a small number counts as large.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dbdyno.cli import main
from dbdyno.databases.adapters import native_adapter
from dbdyno.servers.base import Server
from dbdyno.workloads import rows_read
from dbdyno.workloads.invariants import Committed
from dbdyno.workloads.registry import find_workload
from tests.support.ended import ENDED, assert_sound

TABLES = ("-D", "tables=3", "-D", "table_size=400")
SOME_ROWS, SOME_K = "rows of 100 ids", "sum of k of 100 ids"
READ = {
    ("oltp_read_only", *TABLES): {SOME_ROWS, SOME_K},
    ("oltp_update_index", *TABLES): {SOME_ROWS, SOME_K},
    ("oltp_read_write", *TABLES): {SOME_ROWS},
    ("oltp_insert", *TABLES): set(),
    ("oltp_delete", *TABLES): {SOME_ROWS},
    ("pk", "-D", "operation=update"): {"rows of tbl of 100 ids"},
    ("pk", "-D", "operation=insert"): set(),
}
# Rows of the first and of the last stretch, and rows beside them.
DAMAGE = {
    "update sbtest1 set k = k + 1 where id = 1": True,
    "update sbtest1 set k = k + 1 where id = 11": False,
    "delete from sbtest3 where id = 400": True,
    "update sbtest3 set k = k + 1 where id = 390": False,
}


@pytest.fixture(params=["postgres_server", "mariadb_server"])
def server(request: pytest.FixtureRequest, new_database: Callable[[Server], Server]) -> Server:
    return new_database(request.getfixturevalue(request.param))


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr(rows_read, "ROWS_READ_MAX", 999)
    monkeypatch.setattr(rows_read, "ROWS_OF_STRETCH", 10)


def invariants_read(
    server: Server, capfd: pytest.CaptureFixture[str], *words: str, transactions: int = 100
) -> set[str]:
    short = ("-c", "2", "-t", str(transactions), "--warmup", "0", "--telemetry", "off", "--json")
    assert main(["run", *words, "--target", server.url, *short]) in ENDED
    record = json.loads(capfd.readouterr().out)
    assert_sound(record["invalid_reasons"])
    return {*record["invariants_read"]}


def test_a_run_on_much_data_reads_some_rows_and_reports_which(
    server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    assert {words: invariants_read(server, capfd, *words) for words in READ} == READ


def test_a_run_that_adds_rows_reads_none_when_there_are_many(
    server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    """The run in which they become many counts them: it has written them itself."""
    words = ("bulk_insert", "-D", "tables=2")
    assert main(["load", *words, "--target", server.url]) == 0
    capfd.readouterr()
    assert invariants_read(server, capfd, *words, transactions=10) == {"rows"}
    assert invariants_read(server, capfd, *words, transactions=1) == set()


def test_a_table_to_which_rows_were_added_is_large_as_well(
    server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    """It was loaded with few."""
    few = ("-D", "tables=2", "-D", "table_size=400")
    everything = {"rows", "sum of k"}
    assert main(["load", "oltp_insert", "--target", server.url, *few]) == 0
    capfd.readouterr()
    assert invariants_read(server, capfd, "oltp_insert", *few) == {"rows"}
    assert invariants_read(server, capfd, "oltp_update_index", *few) == everything
    assert invariants_read(server, capfd, "oltp_insert", *few, transactions=200) == {"rows"}
    assert invariants_read(server, capfd, "oltp_insert", *few) == set()
    assert invariants_read(server, capfd, "oltp_update_index", *few) == set()


def test_damage_to_the_rows_that_are_read_is_detected(server: Server) -> None:
    assert main(["load", "oltp_read_only", "--target", server.url, *TABLES]) == 0
    workload = find_workload("oltp_read_only")
    values = workload.complete({"tables": 3, "table_size": 400})
    target = native_adapter(server.endpoint().protocol)
    with server.connect() as connection:
        for damage, is_seen in DAMAGE.items():
            before = workload.snapshot(target, connection, values)
            connection.execute(damage)
            after = workload.snapshot(target, connection, values, before)
            broken = workload.verify(values, before, after, {workload.name: Committed(0, 0)})
            assert bool(broken) == is_seen, damage
