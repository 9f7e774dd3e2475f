"""MariaDB's failures by class and number, and those that are tried again."""

import pytest

from dbdyno.model.plan import Retry
from tests.engine.running import MS, plan_for, times

FAILING = {
    "insert into one values (1, 0);": ("duplicate_key", "1062"),
    "insert into one values (5, -1);": ("constraint", "4025"),
    "select * from nowhere;": ("statement", "1146"),
    "selekt 1;": ("statement", "1064"),
    "insert into one values (6, 99999999999);": ("data", "1264"),
    "signal sqlstate '45000' set message_text = 'so be it';": ("other", "1644"),
    "set statement max_statement_time = 0.02 for select sleep(5);": ("cancelled", "1969"),
    "begin;\nselect * from one where id = 4 for update nowait;": ("lock_timeout", "1205"),
}
ROUNDS = 8


@pytest.fixture
def table(mariadb):
    mariadb.execute(
        "create table one (id int primary key, n int check (n >= 0))",
        "insert into one select seq, 0 from seq_1_to_4",
    )
    yield lambda: [row[0] for row in mariadb.execute("select n from one order by id")]
    mariadb.execute("drop table one")


@pytest.mark.parametrize("mode", ["simple", "prepared"])
@pytest.mark.parametrize(("script", "expected"), FAILING.items())
@pytest.mark.usefixtures("table")
def test_each_class(mariadb, checked, script, expected, mode):
    with mariadb.connect(database="load_test") as holder, holder.cursor() as cursor:
        cursor.execute("begin")
        cursor.execute("select * from one where id = 4 for update")
        endpoint = mariadb.endpoint()
        plan = plan_for(endpoint, script, query_mode=mode, clients=1, threads=1, **times(3))
        told = checked(plan)
    failure_class, code = expected
    assert told.codes == {code: (failure_class, 3)}
    assert told.done.failures[0].message
    assert told.counters.ok == 0


def test_a_role_that_may_not(mariadb, table, checked):
    mariadb.execute("create user poor", "grant select on load_test.* to poor")
    plan = plan_for(mariadb.endpoint(user="poor"), "update one set n = 1;", **times(2))
    assert checked(plan).codes == {"1142": ("permission", 4)}
    mariadb.execute("drop user poor")
    assert table() == [0] * 4


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_after_a_failure_the_open_block_is_left(mariadb, table, checked, io, mode):
    script = "begin;\nupdate one set n = n + 1 where id = 1;\nselect nothing;\ncommit;"
    let_pass = {"query_mode": mode, "ends_on_hopeless_script": False}
    plan = plan_for(mariadb.endpoint(), script, "select 1;", io=io, **let_pass, **times(20))
    told = checked(plan)
    assert told.counters.ok + told.counters.failed == 40
    assert set(told.codes) == {"1054"}
    assert table() == [0] * 4


def test_a_lock_wait_that_times_out_leaves_nothing(mariadb, table, checked, io):
    """The server undoes the statement alone: the rest of the block is undone by us."""
    script = """begin;
update one set n = n + 1 where id = 1 + :client_id;
update one set n = n + 1 where id = 4;
commit;
"""
    with mariadb.connect(database="load_test") as holder, holder.cursor() as cursor:
        cursor.execute("begin")
        cursor.execute("select * from one where id = 4 for update")
        endpoint = mariadb.endpoint(parameters={"innodb_lock_wait_timeout": "1"})
        told = checked(plan_for(endpoint, script, io=io, **times(1)))
    assert told.codes == {"1205": ("lock_timeout", 2)}
    assert table() == [0] * 4


DEADLOCK = """begin;
update one set n = n + 1 where id = 1 + :client_id;
\\sleep 30 ms
update one set n = n + 1 where id = 2 - :client_id;
commit;
"""


@pytest.mark.parametrize("tries", [1, 50])
def test_deadlocks(mariadb, table, checked, io, tries):
    retry = Retry(tries_max=tries)
    told = checked(plan_for(mariadb.endpoint(), DEADLOCK, io=io, retry=retry, **times(ROUNDS)))
    if tries == 1:
        assert told.codes == {"1213": ("deadlock", told.counters.failed)}
        assert told.counters.failed > 0
    else:
        assert told.counters.ok == 2 * ROUNDS
        assert told.counters.retries > 0
    assert table() == [told.counters.ok, told.counters.ok, 0, 0]


def test_a_retry_draws_what_the_first_try_drew(mariadb, table, checked):
    mariadb.execute("create table drawn (client int, x int)")
    script = "\\set x random(1, 1000000000)\n" + DEADLOCK.replace(
        "commit;", "insert into drawn values (:client_id, :x);\ncommit;"
    )
    select = "select client, x from drawn order by client, x"
    endpoint, retry = mariadb.endpoint(), Retry(tries_max=1000)
    assert checked(plan_for(endpoint, script, retry=retry, **times(ROUNDS))).counters.retries > 0
    drawn = mariadb.execute(select)
    mariadb.execute("truncate drawn")
    alone = script.replace("id = 2 - :client_id", "id = 1 + :client_id")
    assert checked(plan_for(endpoint, alone, **times(ROUNDS))).counters.ok == 2 * ROUNDS
    assert mariadb.execute(select) == drawn
    mariadb.execute("drop table drawn")
    assert table()


def test_the_time_for_retries_is_bounded(mariadb, checked):
    script = "\\sleep 100 ms\nsignal sqlstate '40001' set mysql_errno = 1213;"
    retry = Retry(tries_max=0, time_max_ns=250 * MS)
    plan = plan_for(mariadb.endpoint(), script, clients=1, threads=1, retry=retry, **times(1))
    counts = checked(plan).counters
    assert (counts.failed, counts.retried) == (1, 1)
    assert 1 <= counts.retries <= 2


@pytest.mark.parametrize(
    ("script", "told_of"),
    [
        ("select 1;\nselekt 1;", "s0:2 can never work: 1064 You have an error in your SQL syntax"),
        ("select * from nowhere;", "s0:1 can never work: 1146 Table 'load_test.nowhere' doesn't"),
        ("select wrong from one;", "s0:1 can never work: 1054 Unknown column 'wrong'"),
        ("insert into one values (9);", "s0:1 can never work: 1136 Column count doesn't match"),
    ],
)
@pytest.mark.parametrize("mode", ["simple", "prepared"])
@pytest.mark.usefixtures("table")
def test_a_script_that_can_never_work_ends_the_run(mariadb, checked, script, told_of, mode):
    plan = plan_for(mariadb.endpoint(), script, clients=4, seconds=60, query_mode=mode)
    told = checked(plan)
    assert told.done.end == "aborted"
    assert told.done.reason.startswith(told_of)
    # How many more there are hangs on when the slowest client has seen its first.
    assert told.counters.failed >= 10
