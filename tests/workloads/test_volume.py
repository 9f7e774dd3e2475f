"""Updates of part of a large table, and which rows a run and a check read."""

from collections.abc import Callable

import pytest

from dbdyno.databases.adapters import native_adapter
from dbdyno.servers.base import Server
from dbdyno.workloads.invariants import violations
from dbdyno.workloads.registry import find_workload
from tests.support.ended import assert_sound
from tests.workloads.test_runs import run

CHANGED = "select count(*), max(id) from test where crt_time > (select min(crt_time) from test)"


@pytest.fixture(params=["postgres_server", "mariadb_server"])
def server(request: pytest.FixtureRequest, new_database: Callable[[Server], Server]) -> Server:
    return new_database(request.getfixturevalue(request.param))


def test_updates_keep_to_the_hot_rows(server: Server) -> None:
    arguments = ("-D", "rows=2000", "-D", "operation=update", "-D", "hot_rows=5")
    record = run(server, "volume", *arguments)
    assert record["transactions"]["ok"] == 160
    assert record["failures"] == []
    with server.connect() as connection:
        assert connection.execute(CHANGED).fetchone() == (5, 5)


def test_a_run_checks_a_thousand_rows_and_a_check_all(server: Server) -> None:
    assert_sound(run(server, "volume", "-D", "rows=2500")["invalid_reasons"])
    target, workload = native_adapter(server.endpoint().protocol), find_workload("volume")
    values = workload.complete({"rows": 2500})
    with server.connect() as connection:
        before = workload.snapshot(target, connection, values)
        assert list(before.values()) == [1000]
        assert violations(workload.check(target, connection, values)) == []
        connection.execute("delete from test where id = 2")
        assert workload.snapshot(target, connection, values) == before  # it does not read that row
        assert [one.law for one in violations(workload.check(target, connection, values))] == [
            "not fewer"
        ]
        connection.execute("delete from test where id = 2500")
        after = workload.snapshot(target, connection, values)
        assert [one.law for one in workload.verify(values, before, after, {})] == ["unchanged"]
