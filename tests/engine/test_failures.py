"""Failures by class and code, which of them are retried, and which end a run.

Tests for both kinds of server come first; ``failing.py`` has their statements and errors.
"""

import pytest
from msgspec.structs import replace

from dbdyno.model.plan import Retry
from tests.engine.failing import CONFLICT, DEADLOCK, MARIADB, POSTGRESQL, FailingStatements
from tests.engine.postgres import Postgres
from tests.engine.running import SECOND, plan_for, times

SERVERS = {"local": POSTGRESQL, "mariadb": MARIADB}
HOLD = ("begin", "select * from one where id = 4 for update")
RETRY = Retry(tries_max=1000)


@pytest.fixture(params=SERVERS)
def server(request):
    return request.getfixturevalue(request.param)


def statements_of(server) -> FailingStatements:
    return POSTGRESQL if isinstance(server, Postgres) else MARIADB


def each_of(cases: str):
    """Parametrize with every server and each of its own cases."""
    found = [(name, *case) for name in SERVERS for case in getattr(SERVERS[name], cases).items()]
    return pytest.mark.parametrize(("server", "script", "expected"), found, indirect=["server"])


@pytest.fixture
def table(server):
    """Yield a function that returns the rows' values."""
    server.execute(
        "create table one (id int primary key, n int check (n >= 0))",
        "insert into one values (1, 0), (2, 0), (3, 0), (4, 0)",
        "create role nobody_special",
    )
    yield lambda: [n for (n,) in server.execute("select n from one order by id")]
    server.execute("drop table one", "drop role nobody_special")


@pytest.mark.parametrize("mode", ["simple", "prepared"])
@each_of("failing")
@pytest.mark.usefixtures("table")
def test_each_class(server, checked, script, expected, mode):
    with server.holding(*HOLD):
        endpoint = server.endpoint()
        plan = plan_for(endpoint, script, query_mode=mode, clients=1, threads=1, **times(3))
        result = checked(plan)
    failure_class, code = expected
    assert result.codes == {code: (failure_class, 3)}
    assert result.done.failures[0].message
    assert result.counters.ok == 0


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_after_a_failure_the_open_block_is_left(server, table, checked, io, mode):
    statement, code = statements_of(server).broken
    script = f"begin;\nupdate one set n = n + 1 where id = 1;\n{statement}\ncommit;"
    let_pass = {"query_mode": mode, "ends_on_hopeless_script": False}
    plan = plan_for(server.endpoint(), script, "select 1;", io=io, **let_pass, **times(20))
    result = checked(plan)
    assert result.counters.ok + result.counters.failed == 40
    assert set(result.codes) == {code}
    assert result.done.failures[0].statement == 2
    assert table() == [0] * 4


@pytest.mark.parametrize("tries", [1, 50])
def test_deadlocks(server, table, checked, io, tries):
    statements = statements_of(server)
    endpoint = server.endpoint(parameters=statements.hurry)
    plan = plan_for(endpoint, DEADLOCK, io=io, retry=Retry(tries_max=tries), **times(8))
    result = checked(plan)
    if tries == 1:
        assert result.codes == {statements.deadlock: ("deadlock", result.counters.failed)}
        assert result.counters.failed > 0
    else:
        assert result.counters.ok == 16
        assert result.counters.retries > 0
    assert table() == [result.counters.ok, result.counters.ok, 0, 0]


@pytest.mark.usefixtures("table")
def test_a_retry_draws_what_the_first_try_drew(server, checked):
    statements = statements_of(server)
    server.execute("create table drawn (client int, x int)")
    colliding, where = statements.colliding
    script = "\\set x random(1, 1000000000)\n" + colliding.replace(
        "commit;", "insert into drawn values (:client_id, :x);\ncommit;"
    )
    select = "select client, x from drawn order by client, x"
    endpoint = server.endpoint(parameters=statements.hurry)
    assert checked(plan_for(endpoint, script, retry=RETRY, **times(20))).counters.retries > 0
    drawn = server.execute(select)
    server.execute("delete from drawn")
    apart = script.replace(where, "id = 1 + :client_id")
    assert checked(plan_for(endpoint, apart, retry=RETRY, **times(20))).counters.ok == 40
    assert server.execute(select) == drawn
    server.execute("drop table drawn")


def test_the_time_for_retries_is_bounded(server, checked):
    script = f"\\sleep 400 ms\n{statements_of(server).conflict}"
    retry = Retry(tries_max=0, time_max_ns=2 * SECOND)
    plan = plan_for(server.endpoint(), script, clients=1, threads=1, retry=retry, **times(1))
    counts = checked(plan).counters
    assert (counts.failed, counts.retried) == (1, 1)
    assert 1 <= counts.retries <= 4


@pytest.mark.parametrize("mode", ["simple", "prepared"])
@each_of("hopeless")
@pytest.mark.usefixtures("table")
def test_a_script_that_can_never_work_ends_the_run(server, checked, script, expected, mode):
    plan = plan_for(server.endpoint(), script, clients=4, seconds=60, query_mode=mode)
    result = checked(plan)
    assert result.done.end == "aborted"
    assert result.done.reason.startswith(expected)
    assert "--max-failures 100% ignores them" in result.done.reason
    # How many more there are depends on when the slowest client has seen its first.
    assert result.counters.failed >= 10
    assert result.done.measured_ns < 20 * SECOND


on_postgresql = pytest.mark.parametrize("server", ["local"], indirect=True)


@on_postgresql
def test_without_a_further_try_a_conflict_is_a_failure(server, table, checked, io):
    result = checked(plan_for(server.endpoint(), CONFLICT, clients=4, io=io, **times(50)))
    assert result.codes["40001"] == ("serialization", result.counters.failed)
    assert result.counters.ok == table()[0]


@on_postgresql
def test_conflicts_are_tried_again_until_they_succeed(server, table, checked, io):
    plan = plan_for(server.endpoint(), CONFLICT, clients=4, io=io, retry=RETRY, **times(50))
    counts = checked(plan).counters
    assert (counts.ok, counts.failed) == (200, 0)
    assert 0 < counts.retried <= counts.retries
    assert table()[0] == 200


@on_postgresql
@pytest.mark.usefixtures("table")
def test_one_of_several_scripts_that_can_never_work(server, checked, io):
    """It is reported, whatever the others do meanwhile, without waiting for long ones."""
    scripts = ["select 1;", "select * from nowhere;", "select pg_sleep(0.2);"]
    plan = plan_for(server.endpoint(), *scripts, clients=6, seconds=60, io=io)
    result = checked(plan)
    assert result.done.end == "aborted"
    assert result.done.reason.startswith("s1:1 can never work: 42P01 ")
    assert result.counters.ok > 0
    assert result.done.measured_ns < 20 * SECOND


@on_postgresql
@pytest.mark.usefixtures("table")
def test_one_client_that_always_fails_ends_nothing_while_others_are_slow(server, checked, io):
    """Only this client's table does not exist; the others' statements are slow and succeed."""
    script = "\\if :client_id = 0\ntable nowhere;\n\\else\nselect pg_sleep(0.3);\n\\endif"
    plan = plan_for(server.endpoint(), script, clients=4, seconds=0.5, io=io)
    result = checked(plan)
    assert result.done.end == "complete"
    assert set(result.codes) == {"42P01"}
    assert result.counters.failed > 10
    assert result.counters.ok >= 3


@on_postgresql
@pytest.mark.usefixtures("table")
def test_a_script_that_worked_once_is_not_hopeless(server, checked):
    """Even if everything fails from then on: its table can be created only once."""
    script = "create table made_once (x int);"
    result = checked(plan_for(server.endpoint(), script, clients=1, threads=1, **times(50)))
    server.execute("drop table made_once")
    assert result.done.end == "complete"
    assert (result.counters.ok, result.codes) == (1, {"42P07": ("statement", 49)})


@on_postgresql
@pytest.mark.usefixtures("table")
def test_failures_that_are_let_pass_end_nothing(server, checked):
    plan = plan_for(server.endpoint(), "select * from nowhere;", **times(20))
    result = checked(replace(plan, ends_on_hopeless_script=False))
    assert (result.done.end, result.counters.failed) == ("complete", 40)
