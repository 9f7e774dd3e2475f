"""Sessions at an isolation level: the load's own, over each protocol, as the server sees them."""

import pytest

from dbdyno.databases.isolation import at_level
from dbdyno.databases.known import all_databases
from dbdyno.model.plan import Endpoint, Retry
from tests.engine.odbc import Behind, behind
from tests.engine.running import plan_for, times

__all__ = ["behind"]  # a fixture

PROVES = {
    "postgresql": "select 1 / (current_setting('transaction_isolation') = '{}')::int;",
    "mariadb": "select if(@@tx_isolation = '{}', 1, (select 1 union select 2));",
}
WRITES = "create table never (id int);"


def proof(database: str, level: str) -> str:
    """A statement that fails at another level."""
    name = level.replace("-", " ") if database == "postgresql" else level.upper()
    return PROVES[database].format(name)


@pytest.fixture(params=["postgresql", "mariadb"])
def served(request: pytest.FixtureRequest) -> tuple[str, Endpoint]:
    """Each database over its own protocol."""
    name = "local" if request.param == "postgresql" else "mariadb"
    return request.param, request.getfixturevalue(name).endpoint()


def assert_isolated(endpoint: Endpoint, name: str, checked, **how) -> None:
    database = all_databases()[name]
    for level in database.isolation.levels:
        at = at_level(endpoint, database, level, only_reads=False)
        assert checked(plan_for(at, proof(name, level), **how, **times(3))).codes == {}
    other = at_level(endpoint, database, "serializable", only_reads=True)
    codes = checked(plan_for(other, proof(name, "read-committed"), **how, **times(1))).codes
    assert sum(count for _, count in codes.values()) == 2
    ((kind, count),) = checked(plan_for(other, WRITES, **how, **times(2))).codes.values()
    assert (kind, count) == ("permission", 4)


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_each_session_has_its_level_and_lone_statements_may_not_write(served, mode, checked):
    name, endpoint = served
    assert_isolated(endpoint, name, checked, query_mode=mode)


def test_so_has_each_new_connection(served, checked):
    name, endpoint = served
    assert_isolated(endpoint, name, checked, reconnect_each_transaction=True)


def test_so_have_those_behind_odbc(behind: Behind, checked):
    assert_isolated(behind.endpoint(), behind.product.lower(), checked)


def test_a_wait_for_a_row_lock_that_innodb_ends_is_tried_again(mariadb, checked):
    mariadb.execute("create table waited (id int primary key)", "insert into waited values (1)")
    with mariadb.holding("begin", "select * from waited for update"):
        endpoint = mariadb.endpoint(parameters={"innodb_lock_wait_timeout": "1"})
        plan = plan_for(
            endpoint, "select * from waited for update;", retry=Retry(tries_max=2), **times(1)
        )
        result = checked(plan)
    assert result.codes == {"1205": ("lock_timeout", 2)}
    assert (result.done.counters.retries, result.done.tried_again[0].scripts) == (2, [2])
    mariadb.execute("drop table waited")
