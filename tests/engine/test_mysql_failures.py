"""Failures of MariaDB only: its own privileges, and lock waits that undo a single statement."""

import pytest

from tests.engine.running import plan_for, times


@pytest.fixture
def table(mariadb):
    mariadb.execute(
        "create table one (id int primary key, n int)",
        "insert into one select seq, 0 from seq_1_to_4",
    )
    yield lambda: [n for (n,) in mariadb.execute("select n from one order by id")]
    mariadb.execute("drop table one")


def test_a_role_that_may_not(mariadb, table, checked):
    mariadb.execute("create user poor", "grant select on load_test.* to poor")
    plan = plan_for(mariadb.endpoint(user="poor"), "update one set n = 1;", **times(2))
    assert checked(plan).codes == {"1142": ("permission", 4)}
    mariadb.execute("drop user poor")
    assert table() == [0] * 4


def test_a_lock_wait_that_times_out_leaves_nothing(mariadb, table, checked, io):
    """The server undoes only the statement: the engine rolls back the rest of the transaction."""
    script = """begin;
update one set n = n + 1 where id = 1 + :client_id;
update one set n = n + 1 where id = 4;
commit;
"""
    with mariadb.holding("begin", "select * from one where id = 4 for update"):
        endpoint = mariadb.endpoint(parameters={"innodb_lock_wait_timeout": "1"})
        result = checked(plan_for(endpoint, script, io=io, **times(1)))
    assert result.codes == {"1205": ("lock_timeout", 2)}
    assert table() == [0] * 4
