"""Failures by class and code, and those that are tried again."""

import pytest
from msgspec.structs import replace

from dbdyno.model.plan import Retry
from tests.engine.running import MS, SECOND, plan_for, times

FAILING = {
    "insert into one values (1, 0);": ("duplicate_key", "23505"),
    "insert into one values (5, -1);": ("constraint", "23514"),
    "select * from nowhere;": ("statement", "42P01"),
    "select 1 / (select 0 from one limit 1);": ("data", "22012"),
    "do $$ begin raise exception 'so be it'; end $$;": ("other", "P0001"),
    "set role nobody_special;\nselect * from one;": ("permission", "42501"),
    "set statement_timeout = '5ms';\nselect pg_sleep(5);": ("cancelled", "57014"),
    "begin;\nselect * from one where id = 4 for update nowait;": ("lock_timeout", "55P03"),
}
RETRY = Retry(tries_max=1000)


@pytest.fixture
def table(local):
    with local.connect() as connection:
        connection.execute("create table one (id int primary key, n int check (n >= 0))")
        connection.execute("insert into one select id, 0 from generate_series(1, 4) id")
        connection.execute("create role nobody_special")
        yield connection
        connection.execute("drop table one; drop role nobody_special")


@pytest.mark.parametrize(("script", "expected"), FAILING.items())
def test_each_class(local, table, checked, script, expected):
    with local.connect() as holder, holder.transaction():
        holder.execute("select * from one where id = 4 for update")
        plan = plan_for(local.endpoint(), script, clients=1, threads=1, **times(3))
        told = checked(plan)
    failure_class, code = expected
    assert told.codes == {code: (failure_class, 3)}
    assert told.done.failures[0].message
    assert told.counters.ok == 0


def test_after_a_failure_the_open_block_is_left(local, table, checked, io):
    script = "begin;\nupdate one set n = n + 1 where id = 1;\nselect 1 / 0;\nend;"
    other = "select 1;"
    told = checked(plan_for(local.endpoint(), script, other, io=io, **times(20)))
    assert told.counters.ok + told.counters.failed == 40
    assert set(told.codes) == {"22012"}
    assert table.execute("select sum(n) from one").fetchone() == (0,)


CONFLICT = """begin isolation level repeatable read;
update one set n = n + 1 where id = 1;
end;
"""


def test_without_a_further_try_a_conflict_is_a_failure(local, table, checked, io):
    told = checked(plan_for(local.endpoint(), CONFLICT, clients=4, io=io, **times(50)))
    assert told.codes["40001"] == ("serialization", told.counters.failed)
    assert told.counters.ok == table.execute("select n from one where id = 1").fetchone()[0]


def test_conflicts_are_tried_again_until_they_succeed(local, table, checked, io):
    plan = plan_for(local.endpoint(), CONFLICT, clients=4, io=io, retry=RETRY, **times(50))
    counts = checked(plan).counters
    assert (counts.ok, counts.failed) == (200, 0)
    assert 0 < counts.retried <= counts.retries
    assert table.execute("select n from one where id = 1").fetchone() == (200,)


def test_a_retry_draws_what_the_first_try_drew(local, table, checked):
    table.execute("create table drawn (client int, x int)")
    # The pause is in the transaction's snapshot, so that the two clients never miss each other.
    late = CONFLICT.replace("update", "select pg_sleep(0.002);\nupdate")
    script = "\\set x random(1, 1000000000)\n" + late.replace(
        "end;", "insert into drawn values (:client_id, :x);\nend;"
    )
    with_conflicts = plan_for(local.endpoint(), script, clients=2, retry=RETRY, **times(30))
    counts = checked(with_conflicts).counters
    assert counts.retries > 0
    select = "select client, x from drawn order by client, x"
    drawn = table.execute(select).fetchall()
    table.execute("truncate drawn")
    alone = script.replace("id = 1", "id = 1 + :client_id")
    assert (
        checked(plan_for(local.endpoint(), alone, clients=2, retry=RETRY, **times(30))).counters.ok
        == 60
    )
    assert table.execute(select).fetchall() == drawn
    table.execute("drop table drawn")


@pytest.mark.parametrize("tries", [1, 50])
def test_deadlocks(local, table, checked, io, tries):
    script = """begin;
update one set n = n + 1 where id = 1 + :client_id;
\\sleep 50 ms
update one set n = n + 1 where id = 2 - :client_id;
end;
"""
    endpoint = local.endpoint(parameters={"deadlock_timeout": "10ms"})
    plan = plan_for(endpoint, script, io=io, retry=Retry(tries_max=tries), **times(4))
    told = checked(plan)
    if tries == 1:
        assert told.codes == {"40P01": ("deadlock", told.counters.failed)}
        assert told.counters.failed > 0
    else:
        assert told.counters.ok == 8
        assert told.counters.retries > 0


def test_the_time_for_retries_is_bounded(local, table, checked):
    script = "\\sleep 100 ms\ndo $$ begin raise sqlstate '40001'; end $$;"
    retry = Retry(tries_max=0, time_max_ns=250 * MS)
    plan = plan_for(local.endpoint(), script, clients=1, threads=1, retry=retry, **times(1))
    counts = checked(plan).counters
    assert (counts.failed, counts.retried) == (1, 1)
    assert 1 <= counts.retries <= 2


@pytest.mark.parametrize(
    ("script", "told_of"),
    [
        ("select 1;\nselekt 1;", 's0:2 can never work: 42601 syntax error at or near "selekt"'),
        (
            "select *\n  from nowhere;",
            's0:1 can never work: 42P01 relation "nowhere" does not exist',
        ),
        ("select wrong from one;", 's0:1 can never work: 42703 column "wrong" does not exist'),
        ("begin;\nset local role nobody_special;\ntable one;\nend;", "s0:3 can never work: 42501"),
    ],
)
@pytest.mark.parametrize("mode", ["simple", "prepared"])
@pytest.mark.usefixtures("table")
def test_a_script_that_can_never_work_ends_the_run(local, checked, script, told_of, mode):
    plan = plan_for(local.endpoint(), script, clients=4, seconds=60, query_mode=mode)
    told = checked(plan)
    assert told.done.end == "aborted"
    assert told.done.reason.startswith(told_of)
    assert "--max-failures 100% lets them pass" in told.done.reason
    # How many more there are hangs on when the slowest client has seen its first.
    assert told.counters.failed >= 10
    assert told.done.measured_ns < 20 * SECOND


def test_one_of_several_scripts_that_can_never_work(local, table, checked, io):
    """It is named, whatever the others do meanwhile, and long ones are not waited for."""
    scripts = ["select 1;", "select * from nowhere;", "select pg_sleep(0.2);"]
    plan = plan_for(local.endpoint(), *scripts, clients=6, seconds=60, io=io)
    told = checked(plan)
    assert told.done.end == "aborted"
    assert told.done.reason.startswith("s1:1 can never work: 42P01 ")
    assert told.counters.ok > 0
    assert told.done.measured_ns < 20 * SECOND


def test_one_client_that_always_fails_ends_nothing_while_others_are_slow(local, table, checked, io):
    """Its table alone is not there; the others answer late, and well."""
    script = "\\if :client_id = 0\ntable nowhere;\n\\else\nselect pg_sleep(0.3);\n\\endif"
    plan = plan_for(local.endpoint(), script, clients=4, seconds=0.5, io=io)
    told = checked(plan)
    assert told.done.end == "complete"
    assert set(told.codes) == {"42P01"}
    assert told.counters.failed > 10
    assert told.counters.ok >= 3


def test_a_script_that_worked_once_is_not_hopeless(local, table, checked):
    """Though all that it does from then on fails: its table is there only once."""
    script = "create table made_once (x int);"
    told = checked(plan_for(local.endpoint(), script, clients=1, threads=1, **times(50)))
    table.execute("drop table made_once")
    assert told.done.end == "complete"
    assert (told.counters.ok, told.codes) == (1, {"42P07": ("statement", 49)})


def test_failures_that_are_let_pass_end_nothing(local, table, checked):
    plan = plan_for(local.endpoint(), "select * from nowhere;", **times(20))
    told = checked(replace(plan, ends_on_hopeless_script=False))
    assert (told.done.end, told.counters.failed) == ("complete", 40)
