"""The rows that each statement touched, and its executions that touched none."""

import pytest

from dbdyno.model.frame import Interval
from dbdyno.model.plan import Lua
from tests.engine.running import plan_for, times

SCRIPT = """
select 1 where :client_id < 0;
select generate_series(1, 3);
insert into hits values (:client_id), (:client_id);
update hits set n = n where n = :client_id returning n;
update hits set n = n where n = -1;
delete from hits where n = :client_id;
insert into hits select 1 where false;
"""
TOUCHED = [0, 3, 2, 2, 0, 2, 0]
IN_LUA = """
function thread_init()
  con = sysbench.sql.driver():connect()
  one = con:prepare("SELECT n AS found FROM hits WHERE n = ?")
  key = one:bind_create(sysbench.sql.type.INT)
  one:bind_param(key)
end
function event()
  con:query("SELECT n FROM hits WHERE n = 7")
  con:query("UPDATE hits SET n = 7 WHERE n = 7")
  con:query("UPDATE hits SET n = n WHERE n = -7")
  key:set(7)
  one:execute()
end
"""


def rows_of(result, executions):
    """The rows of one execution of each statement."""
    frames = [frame for frame in result.all(Interval) if frame.phase != "warmup"]
    statements = range(len(frames[-1].rows))
    counts, rows, without = (
        [
            sum(of(frame, number) for frame in frames if number < len(frame.rows))
            for number in statements
        ]
        for of in (
            lambda frame, number: frame.statements[number].count,
            lambda frame, number: frame.rows[number][0],
            lambda frame, number: frame.rows[number][1],
        )
    )
    assert set(counts) == {executions}
    assert without == [0 if touched else executions for touched in rows]
    return [touched // executions for touched in rows]


@pytest.fixture
def hits(database):
    with database.connect() as control:
        control.execute("create table hits (n int)")
    return database


@pytest.fixture
def mariadb_hits(mariadb):
    mariadb.execute("create or replace table hits (n int)")
    return mariadb


@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
def test_postgresql_tells_them_in_each_mode(hits, checked, mode):
    plan = plan_for(hits.endpoint(), SCRIPT, query_mode=mode, **times(3))
    assert rows_of(checked(plan), 6) == TOUCHED


@pytest.mark.parametrize("mode", ["extended", "prepared"])
def test_so_it_does_in_a_pipeline(hits, checked, mode):
    script = f"\\startpipeline\n{SCRIPT}\\endpipeline"
    plan = plan_for(hits.endpoint(), script, query_mode=mode, **times(3))
    assert rows_of(checked(plan), 6)[:-1] == TOUCHED


def test_the_statements_of_one_text_are_added_up(hits, checked):
    texts = (
        "insert into hits values (0)",
        "select n from hits limit 1",
        "update hits set n = 1 where n = -1;",
    )
    script = " \\; ".join(texts)
    plan = plan_for(hits.endpoint(), script, query_mode="simple", **times(2))
    assert rows_of(checked(plan), 4) == [2]


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_mariadb_tells_the_rows_that_an_update_found_and_left_alone(mariadb_hits, checked, mode):
    mariadb_hits.execute("insert into hits values (7), (8), (9)")
    script = """
        select n from hits where n = :client_id - 1;
        select n from hits where n > 7;
        update hits set n = n where n > :client_id;
        update hits set n = n where n = :client_id - 1;
        delete from hits where n = :client_id - 1;
    """
    plan = plan_for(mariadb_hits.endpoint(), script, query_mode=mode, **times(3))
    assert rows_of(checked(plan), 6) == [0, 2, 3, 0, 0]


def test_scripts_in_lua_count_what_they_execute_and_not_what_they_prepare(mariadb_hits, checked):
    mariadb_hits.execute("insert into hits values (7)")
    text = IN_LUA
    plan = plan_for(mariadb_hits.endpoint(), text, lua=Lua(path="mine.lua"), **times(3))
    assert rows_of(checked(plan), 6) == [1, 1, 1, 0]  # the one that is prepared first comes first
