"""Databases behind ODBC, tested with psqlODBC and MariaDB's driver on real servers."""

import sqlite3
import time

import pytest

from dbdyno.engine import load
from dbdyno.model.frame import Connected, Hello, Interval, Outage
from dbdyno.model.generators import Block, Number, Numbered, Sequence
from dbdyno.model.plan import (
    Address,
    Endpoint,
    LoadColumn,
    LoadPlan,
    LoadTable,
    OdbcAddress,
    Retry,
    Stage,
)
from tests.engine.happenings import dies_and_comes_back
from tests.engine.odbc import Behind, behind, behind_psqlodbc
from tests.engine.running import MS, SECOND, plan_for, times
from tests.support.patience import wait_until

__all__ = ["behind"]  # a fixture

MODES = ["simple", "extended", "prepared"]
DEPOSIT = """begin;
update one set n = n + :delta where id = :client_id + 1;
select n from one where id = :client_id + 1 \\gset got_
insert into written (client, n) values (:client_id, :got_n);
end;
"""


@pytest.fixture
def table(behind: Behind):
    """Two rows on which clients meet."""
    behind.execute(
        "create table one (id int primary key, n int not null)",
        "insert into one values (1, 0), (2, 0)",
        "create table written (client int, n int)",
    )
    yield lambda: [row[0] for row in behind.execute("select n from one order by id")]
    behind.execute("drop table one", "drop table written")


@pytest.mark.parametrize("mode", MODES)
def test_a_transaction_is_one_and_each_statement_is_timed(behind, table, checked, mode):
    plan = plan_for(behind.endpoint(), DEPOSIT, query_mode=mode, variables={"delta": 3}, **times(7))
    result = checked(plan)

    assert result.counters.ok == 14, result.done.failures
    assert table() == [21, 21]
    assert behind.execute("select count(*), max(n) from written") == [(14, 21)]
    hello = result.one(Hello)
    assert (hello.io, len(hello.statements)) == ("odbc", 5)
    connected = result.one(Connected)
    assert connected.server_version.startswith(behind.product)
    assert connected.connect.count == 2


@pytest.mark.parametrize("mode", ["extended", "prepared"])
def test_parameters_arrive_in_the_types_of_their_columns(behind, checked, mode):
    behind.execute(
        "create table seen (b bigint, n numeric(10, 2), d double precision, t varchar(2000), "
        "s timestamp(6), i int, x varchar(9))"
    )
    script = """\\set b 9007199254740993
\\set n -12.5
\\set i 7
insert into seen values (:b, :n, :d, :t, :s, :i, :x);
select t as text from seen where i = :i and t = :t \\gset
insert into seen (t) values (:text);
"""
    long = "l'été ☃ " * 200
    variables = {"d": 0.1, "t": long, "s": "2024-02-29 12:00:00", "x": None}
    one = {"clients": 1, "threads": 1, **times(1)}
    result = checked(
        plan_for(behind.endpoint(), script, query_mode=mode, variables=variables, **one)
    )
    assert result.counters.ok == 1, result.done.failures
    first, second = behind.execute("select * from seen order by coalesce(i, 9)")
    behind.execute("drop table seen")
    b, n, d, t, s, i, x = first
    assert (b, float(n), d, t, i, x) == (9007199254740993, -12.5, 0.1, long, 7, None)
    assert s.isoformat() == "2024-02-29T12:00:00"
    assert second[3] == long


def test_a_parameter_may_change_its_shape(behind, checked):
    behind.execute("create table shapes (client int, t varchar(2000))")
    script = """\\if :client_id = 0
\\set x 1
\\else
\\set x null
\\endif
insert into shapes values (:x, :t);
select 'a much longer text than before, of more than sixty-four units, to be sent' as t \\gset
insert into shapes values (:client_id, :t);
"""
    plan = plan_for(behind.endpoint(), script, variables={"t": "short"}, **times(2))
    result = checked(plan)
    assert result.counters.ok == 4, result.done.failures
    rows = behind.execute("select client, length(t) from shapes")
    behind.execute("drop table shapes")
    first = [(1, 5), (0, 73), (None, 5), (1, 73)]
    second = [(1, 73), (0, 73), (None, 73), (1, 73)]
    assert sorted(rows, key=str) == sorted(first + second, key=str)


FAILING = {
    "insert into one values (1, 0);": ("duplicate_key", "23505", "1062"),
    "insert into one values (3, null);": ("constraint", "23502", "1048"),
    "select * from nowhere;": ("statement", "42P01", "1146"),
    "selekt 1;": ("statement", "42601", "1064"),
}


@pytest.mark.parametrize("mode", ["simple", "prepared"])
@pytest.mark.parametrize(("script", "expected"), FAILING.items())
@pytest.mark.usefixtures("table")
def test_each_class_of_failure(behind, checked, script, expected, mode):
    one = {"clients": 1, "threads": 1, **times(3)}
    result = checked(plan_for(behind.endpoint(), script, query_mode=mode, **one))
    failure_class, state, number = expected
    code = state if behind.product == "PostgreSQL" else number
    assert result.codes == {code: (failure_class, 3)}
    assert result.done.failures[0].message


def test_no_more_is_kept_of_an_answer_than_on_a_wire(behind, checked):
    values = ", ".join(f"repeat('x', 14000000) as v{number}" for number in range(5))
    script = f"select 1;\nselect {values} \\gset"
    result = checked(plan_for(behind.endpoint(), script, clients=1, threads=1, **times(2)))
    assert result.codes == {"result_too_large": ("script", 2)}


def test_after_a_failure_the_open_block_is_left(behind, table, checked):
    script = "begin;\nupdate one set n = n + 1 where id = 1;\nselect nothing;\ncommit;"
    # Too few to conclude that the script can never work, which would end the run.
    result = checked(plan_for(behind.endpoint(), script, "select 1;", **times(4)))
    assert result.counters.ok + result.counters.failed == 8
    assert result.counters.ok > 0
    assert table() == [0, 0]


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_a_block_with_properties_of_its_own_is_left_too(behind, table, checked, mode):
    begin = {
        "PostgreSQL": "begin isolation level repeatable read",
        "MariaDB": "start transaction with consistent snapshot",
    }[behind.product]
    script = f"{begin};\nupdate one set n = n + 1 where id = 1;\nselect nothing;\ncommit;"
    result = checked(plan_for(behind.endpoint(), script, "select 1;", query_mode=mode, **times(4)))
    assert result.counters.ok + result.counters.failed == 8
    assert result.counters.ok > 0
    assert len(result.codes) == 1, "each failed in the same statement"
    assert table() == [0, 0]


def test_deadlocks_are_tried_again(behind, table, checked):
    meet = """begin;
update one set n = n + 1 where id = 1 + :client_id;
\\sleep 500 ms
update one set n = n + 1 where id = 2 - :client_id;
end;
"""
    plan = plan_for(behind.endpoint(), meet, retry=Retry(tries_max=0), **times(2))
    result = checked(plan)
    assert result.counters.ok == 4
    assert result.counters.retries > 0
    assert table() == [4, 4]


def test_connections_wait_for_each_other_no_more_than_on_a_wire(behind, checked):
    sleep = "pg_sleep(1)" if behind.product == "PostgreSQL" else "sleep(1)"
    began = time.monotonic()
    checked(plan_for(behind.endpoint(), f"select {sleep};", clients=16, **times(1)))
    assert time.monotonic() - began < 15, "one after the other it takes 16 s"


def test_a_statement_beyond_the_time_limit_is_cancelled(behind, checked):
    sleep = "pg_sleep(60)" if behind.product == "PostgreSQL" else "sleep(60)"
    plan = plan_for(behind.endpoint(), f"select {sleep};", seconds=0.5)
    result = checked(plan)
    assert result.counters.unfinished == 2
    assert result.done.end == "complete"


def test_an_open_loop_reconnects_each_time(behind, checked):
    plan = plan_for(
        behind.endpoint(), "select 1;", rate_tps=40, seconds=0.5, reconnect_each_transaction=True
    )
    counts = checked(plan).counters
    assert counts.due == 19
    assert counts.ok == 19 - counts.waiting
    assert counts.ok > 0


def test_pipelines_are_refused(behind, checked):
    script = "\\startpipeline\nselect 1;\nselect 2;\n\\endpipeline\n"
    result = checked(plan_for(behind.endpoint(), script, **times(1)))
    assert result.codes == {"no_pipelines": ("script", 2)}


def test_a_server_that_comes_back_is_connected_to_again(local, checked):
    behind = behind_psqlodbc(local)

    # Its sessions are recognized by this name when they are back.
    endpoint = behind.endpoint(";pqopt={application_name=load}")
    back = dies_and_comes_back(local, sessions=2)
    result = checked(plan_for(endpoint, "select 1;", seconds=60), back)
    assert all(outage.end_ns for outage in result.all(Outage))
    assert sum(outage.connections_lost for outage in result.all(Outage)) >= 2
    assert result.done.end == "interrupted"
    assert sum(each.completed_ok for each in result.all(Interval)[-10:]) > 0


def test_a_killed_session_fails_its_transaction_alone(local, checked):
    behind = behind_psqlodbc(local)
    kill = (
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where query like 'select 1%' limit 1"
    )

    def one(engine) -> None:
        wait_until(lambda: behind.execute(kill), "a session of the load")
        time.sleep(0.3)
        engine.stop()

    result = checked(plan_for(behind.endpoint(), "select 1;", seconds=60, query_mode="simple"), one)
    assert result.counters.failed == 1
    assert [each.failure_class for each in result.done.failures] == ["connection"]


def test_the_reason_for_a_failed_connection_is_reported(behind, refused):
    def refusal(**changes):
        return refused(plan_for(behind.endpoint(**changes), "select 1;"))

    missing = behind.attributes.replace(" Unicode}", " of Nobody}")
    changed = Behind(behind.server, missing, behind.user, behind.product)
    result = refused(plan_for(changed.endpoint(), "select 1;"))
    assert result.code == "cannot_connect"
    assert "install the database's ODBC driver" in result.hint

    result = refusal(user="nobody_at_all", password="secret;})")
    assert result.code == "cannot_connect"
    assert "secret" not in result.message + result.hint


def test_rows_are_loaded_as_arrays(behind):
    behind.execute("create table bulk (id int, big bigint, t varchar(40), s timestamp(6))")
    columns = [
        LoadColumn(kind="int4", generator=Sequence(1)),
        LoadColumn(kind="int8", generator=Number(5_000_000_000)),
        LoadColumn(kind="text", generator=Numbered("é", 1)),
        LoadColumn(kind="timestamp", generator=Number(1_500_000)),
    ]
    rows = LoadTable(
        name="bulk",
        before=["delete from bulk where 1 = 0"],
        copy="insert into bulk (id, big, t, s) values (?, ?, ?, ?)",
        rows=2_500,
        rows_total=2_500,
        pieces_max=1,
        columns=columns,
    )
    list(load(LoadPlan(endpoint=behind.endpoint(), seed=1, jobs=2, tables=[rows])))
    found = behind.execute(
        "select count(*), sum(id), min(big), max(big), min(t), max(length(t)), max(s) from bulk"
    )
    behind.execute("drop table bulk")
    ((count, total, low, high, text, _, stamp),) = found
    assert (count, int(total)) == (2_500, 2_500 * 2_501 // 2)
    assert (low, high) == (5_000_000_000, 5_000_000_000)
    assert text == "é1"
    assert stamp.isoformat() == "2000-01-01T00:00:01.500000"


def test_a_load_that_is_refused_leaves_nothing(behind):
    behind.execute("create table bulk (id int primary key)")
    column = LoadColumn(kind="int4", generator=Block(1_200, 1))
    table = LoadTable(
        name="bulk",
        copy="insert into bulk (id) values (?)",
        rows=1_500,
        rows_total=1_500,
        pieces_max=1,
        columns=[column],
    )
    with pytest.raises(Exception, match="loading bulk failed"):
        list(load(LoadPlan(endpoint=behind.endpoint(), seed=1, jobs=1, tables=[table])))
    assert behind.execute("select count(*) from bulk") == [(0,)]
    behind.execute("drop table bulk")


def test_a_run_of_stages(behind, checked):
    stages = [Stage(duration_ns=SECOND // 4, clients=1), Stage(duration_ns=SECOND // 4)]
    plan = plan_for(behind.endpoint(), "select 1;", stages=stages, warmup_ns=100 * MS)
    assert checked(plan).counters.ok > 0


def test_a_server_that_answers_no_more_ends_the_run(local, checked):
    behind = behind_psqlodbc(local)
    plan = plan_for(behind.endpoint(), "select 1;", seconds=60, stall_limit_ns=SECOND)
    try:
        result = checked(plan, lambda _engine: local.freeze())
    finally:
        local.thaw()
    assert result.done.end == "stalled"


@pytest.fixture
def sqlite(tmp_path):
    """A database that dbdyno does not know: standard calls must suffice."""
    path = tmp_path / "data.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("create table one (id int primary key, n int not null)")
    connection.execute("insert into one values (1, 0)")
    address = Address(odbc=OdbcAddress(attributes=f"Driver={{SQLite3}};Database={path}"))
    yield connection, Endpoint(protocol="odbc", address=address, user="", database="")
    connection.close()


@pytest.mark.parametrize("mode", MODES)
def test_transactions_of_an_unknown_database_begin_and_end_by_calls(sqlite, checked, mode):
    connection, endpoint = sqlite
    script = """begin;
update one set n = n + :delta where id = 1;
insert into one (id, n) select 100 + count(*), 0 from one;
select nothing from nowhere where :client_id < :broken;
end;
"""
    one = {"clients": 1, "threads": 1, "query_mode": mode, **times(4)}
    kept = script.replace("select nothing from nowhere where :client_id < :broken;\n", "")
    result = checked(plan_for(endpoint, kept, variables={"delta": 2}, **one))
    assert result.counters.ok == 4, result.done.failures
    state = "select sum(n), count(*) from one"
    assert connection.execute(state).fetchall() == [(8, 5)]

    result = checked(plan_for(endpoint, script, variables={"delta": 2, "broken": 1}, **one))
    assert result.counters.failed == 4
    assert connection.execute(state).fetchall() == [(8, 5)], "what failed was not rolled back"
