"""The same seed loads the same rows, on every server and over any number of connections.

A run of one client with the same seed changes them alike. ``test_tpcc.py`` and ``test_tatp.py``
compare the data that they have loaded for more in the same way.
"""

import dataclasses

import pytest

from dbdyno.workloads import loading
from dbdyno.workloads.base import Workload
from dbdyno.workloads.registry import find_workload
from tests.workloads.both_servers import KINDS, TPCC, command, database_on
from tests.workloads.row_hashes import row_hashes

CH, SMALLBANK, YCSB = map(find_workload, ("ch", "smallbank", "ycsb"))
ADDED_BY_CH = dataclasses.replace(
    CH,
    tables=lambda values: CH.tables(values)[len(TPCC.tables(values)) :],
)
COLUMNS = {"form": "columns", "key": "text", "record_count": 2000}
DOCUMENTS = {"form": "json", "key": "number", "record_count": 2000}
BANK = {"customers": 2000}
LOADS = (
    ("postgres_server", 1),
    ("postgres_server", 4),
    ("mariadb_server", 1),
    ("mariadb_server", 3),
)


@pytest.mark.parametrize(
    ("workload", "given", "rows"),
    [
        (ADDED_BY_CH, {}, 10_067),
        (SMALLBANK, BANK, 6000),
        (YCSB, COLUMNS, 2000),
        (YCSB, DOCUMENTS, 2000),
    ],
    ids=["ch", "smallbank", "ycsb-columns", "ycsb-json"],
)
def test_loaded_rows_are_the_same(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    workload: Workload,
    given: dict[str, int],
    rows: int,
) -> None:
    monkeypatch.setattr(loading, "ROWS_PER_PIECE_MIN", 100)
    tables = workload.tables(workload.complete(given))
    found = []
    for kind, jobs in LOADS:
        with database_on(request.getfixturevalue(kind), "same_rows") as database:
            database.prepare(workload, jobs=jobs, **given)
            found.append(row_hashes(database, tables))
    assert sum(count for count, _ in found[0].values()) == rows
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize(
    ("workload", "given", "options"),
    [
        (SMALLBANK, BANK, {"mix": "payments"}),
        (YCSB, COLUMNS, {"workload": "f", "write_all": "on"}),
        (YCSB, DOCUMENTS, {"workload": "a"}),
        (YCSB, DOCUMENTS, {"workload": "e"}),
    ],
    ids=["smallbank", "ycsb-f-columns", "ycsb-a-json", "ycsb-e-json"],
)
def test_runs_change_them_alike(
    request: pytest.FixtureRequest,
    workload: Workload,
    given: dict[str, int],
    options: dict[str, str],
) -> None:
    words = [word for each in (given | options).items() for word in ("-D", "{}={}".format(*each))]
    amount = ("-c", "1", "-t", "200", "--warmup", "0", "--telemetry", "off", "--seed", "6")
    tables = workload.tables(workload.complete(given))
    found = []
    for kind in KINDS:
        with database_on(request.getfixturevalue(kind), "same_changes") as database:
            database.prepare(workload, **given)
            before = row_hashes(database, tables)
            target = ("--target", database.server.url)
            code, record = command("run", workload.name, *target, *words, *amount)
            assert (code, record["invalid_reasons"], record["failures"]) == (0, [], [])
            found.append(row_hashes(database, tables))
            assert found[-1] != before
    assert found[0] == found[1]
