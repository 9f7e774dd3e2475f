"""Statements arrive at MariaDB as intended, as text and prepared, over each kernel interface."""

from decimal import Decimal

import pytest

from dbdyno.model.frame import Activity, Connected, Hello
from dbdyno.model.telemetry import UNCONNECTED
from tests.engine.running import MS, plan_for, times
from tests.engine.test_activity import clients

MODES = ["simple", "prepared"]


@pytest.fixture
def table(mariadb):
    mariadb.execute(
        "create table seen (b bigint, n numeric(9, 1), d double, t text, s datetime, i int)"
    )
    yield lambda: mariadb.execute("select * from seen order by b, i")
    mariadb.execute("drop table seen")


@pytest.mark.parametrize("mode", MODES)
def test_parameters_arrive_in_the_types_of_their_columns(mariadb, table, checked, io, mode):
    script = """\\set b 9007199254740993
\\set n -12.5
\\set i 7
insert into seen values (:b, :n, :d, :t, :s, :i);
"""
    variables = {"d": 0.1, "t": "l'été 🐘", "s": "2024-02-29 12:00:00"}
    if mode == "simple":  # text is inserted as it is
        variables |= {"t": "'l''été 🐘'", "s": "'2024-02-29 12:00:00'"}
    endpoint = mariadb.endpoint()
    result = checked(
        plan_for(endpoint, script, io=io, query_mode=mode, variables=variables, **times(2))
    )

    assert result.counters.ok == 4, result.done.failures
    assert result.one(Hello).io == io
    (one, *others) = table()
    assert others == [one] * 3
    b, n, d, t, s, i = one
    assert (b, n, d, t, i) == (9007199254740993, Decimal("-12.5"), 0.1, "l'été 🐘", 7)
    assert s.isoformat() == "2024-02-29T12:00:00"


def test_null_arrives_as_null(mariadb, table, checked):
    script = "\\set b :client_id\ninsert into seen values (:b, :x, :x, :x, :x, :x);"
    endpoint = mariadb.endpoint()
    plan = plan_for(endpoint, script, query_mode="prepared", variables={"x": None}, **times(1))
    assert checked(plan).counters.ok == 2
    assert table() == [(0, *[None] * 5), (1, *[None] * 5)]


def test_a_table_may_be_made_by_the_script_itself(mariadb, checked, io):
    script = """create temporary table if not exists own (x int);
insert into own values (:client_id);
select count(*) as x from own where x <> :client_id \\gset
\\if :x
select wrong;
\\endif
"""
    plan = plan_for(mariadb.endpoint(), script, query_mode="prepared", io=io, **times(3))
    result = checked(plan)
    assert result.counters.ok == 6, result.done.failures


@pytest.mark.parametrize("mode", MODES)
def test_results_come_back_into_variables(mariadb, table, checked, io, mode):
    script = """select 40 + :client_id as x, null as nothing, 1.5e0 as half \\gset
insert into seen (b, i, d) values (:x, :x + 1, :half);
"""
    plan = plan_for(mariadb.endpoint(), script, io=io, query_mode=mode, **times(1))
    result = checked(plan)
    assert result.counters.ok == 2, result.done.failures
    assert [(row[0], row[5], row[2]) for row in table()] == [(40, 41, 1.5), (41, 42, 1.5)]


def test_several_statements_in_one_text(mariadb, table, checked, io):
    script = """select 1 as first \\; select 2 as second \\aset
insert into seen (b, i) values (:client_id, :first * 10 + :second) \\; select 1 \\; select 2;
"""
    plan = plan_for(mariadb.endpoint(), script, io=io, query_mode="simple", **times(1))
    assert checked(plan).counters.ok == 2
    assert [row[5] for row in table()] == [12, 12]


def test_a_pipeline_is_answered_in_order(mariadb, table, checked, io):
    """The protocol has no pipelines: its parts are sent one after the other."""
    inserts = "\\startpipeline\n" + "insert into seen (b) values (:client_id);\n" * 3
    script = inserts + "\\syncpipeline\n" + "select 1;\n\\endpipeline\n"
    plan = plan_for(mariadb.endpoint(), script, io=io, query_mode="prepared", **times(5))
    assert checked(plan).counters.ok == 10
    assert len(table()) == 30


@pytest.mark.parametrize("mode", MODES)
def test_a_connection_for_each_transaction(mariadb, checked, io, mode):
    plan = plan_for(
        mariadb.endpoint(),
        "select 1;",
        clients=20,
        reconnect_each_transaction=True,
        query_mode=mode,
        io=io,
        **times(3),
    )
    assert checked(plan).counters.ok == 60


def test_long_answers(mariadb, checked, io):
    """More than a packet of 16 MiB, and many small ones."""
    script = "select repeat('x', 17000000);\nselect seq from seq_1_to_20000;"
    plan = plan_for(mariadb.endpoint(), script, io=io, clients=1, threads=1, **times(2))
    result = checked(plan)
    assert result.counters.ok == 2, result.done.failures


def test_long_questions(mariadb, checked):
    script = (
        "select length(:t) as x \\gset\n\\if :x = 17000000\nselect 1;\n\\else\nselect no;\n\\endif"
    )
    endpoint = mariadb.endpoint()
    variables = {"t": "x" * 17_000_000}
    mariadb.execute("set global max_allowed_packet = 64 * 1024 * 1024")
    plan = plan_for(
        endpoint,
        script,
        query_mode="prepared",
        variables=variables,
        clients=1,
        threads=1,
        **times(1),
    )
    result = checked(plan)
    assert result.counters.ok == 1, result.done.failures


def test_a_statement_longer_than_the_server_accepts_is_not_prepared(mariadb, refused):
    script = f"select '{'x' * 1_100_000}';"
    mariadb.execute("set global max_allowed_packet = 1024 * 1024")
    try:
        failed = refused(plan_for(mariadb.endpoint(), script, query_mode="prepared"))
    finally:
        mariadb.execute("set global max_allowed_packet = 16 * 1024 * 1024")
    assert failed.hint == "raise max_allowed_packet on the server, or send shorter statements"


def test_the_activity_names_the_servers_connections(mariadb, checked, io):
    result = checked(
        plan_for(
            mariadb.endpoint(),
            "select sleep(0.2);\nselect 1;",
            clients=4,
            io=io,
            activity_interval_ns=20 * MS,
            seconds=0.5,
        )
    )
    backends = result.one(Connected).backend_pids
    activities = result.all(Activity)
    assert activities
    for activity in activities:
        known = [backend for doing, backend in clients(activity) if doing != UNCONNECTED]
        assert set(known) <= set(backends)
    awaited = [doing for activity in activities for doing, _ in clients(activity)]
    assert awaited.count(0) > len(awaited) / 2


def test_select_and_update_for_a_while(mariadb, checked, io):
    mariadb.execute("create table counted (id int primary key, n int)")
    mariadb.execute("insert into counted select seq, 0 from seq_1_to_100")
    script = """\\set id random(1, 100)
begin;
select n from counted where id = :id;
update counted set n = n + 1 where id = :id;
commit;
"""
    result = checked(plan_for(mariadb.endpoint(), script, io=io, clients=8))
    assert result.counters.failed == 0, result.done.failures
    assert result.counters.ok > 0
    assert mariadb.execute("select sum(n) from counted")[0][0] == result.counters.ok
    mariadb.execute("drop table counted")
