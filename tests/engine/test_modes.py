"""Statements arrive as intended, in each mode, over each kernel interface and protocol."""

import hashlib

import psycopg
import pytest

from dbdyno.engine import histogram_quantiles
from dbdyno.model.frame import Connected, Hello, Note
from tests.engine.postgres import Postgres
from tests.engine.running import MS, plan_for, times

MODES = ["simple", "extended", "prepared"]


@pytest.fixture
def table(each_server: Postgres):
    """A new table with each type that a parameter may have."""
    with each_server.connect() as connection:
        connection.execute(
            "create table seen (b bigint, n numeric, d float8, t text, s timestamp, i int)"
        )
        yield connection
        connection.execute("drop table seen")


def rows(connection: psycopg.Connection) -> list[tuple]:
    return connection.execute("select * from seen order by b").fetchall()


@pytest.mark.parametrize("mode", MODES)
def test_parameters_arrive_in_the_types_of_their_columns(each_server, table, checked, io, mode):
    script = """\\set b 9007199254740993
\\set n -12.5
\\set i 7
insert into seen values (:b, :n, :d, :t, :s, :i);
"""
    variables = {"d": 0.1, "t": "l'été", "s": "2024-02-29 12:00:00"}
    if mode == "simple":  # text is inserted as it is
        variables |= {"t": "'l''été'", "s": "'2024-02-29 12:00:00'"}
    plan = plan_for(
        each_server.endpoint(), script, io=io, query_mode=mode, variables=variables, **times(2)
    )
    result = checked(plan)

    assert result.counters.ok == 4, result.done.failures
    assert result.one(Hello).io == io
    (one, *others) = rows(table)
    assert others == [one] * 3
    b, n, d, t, s, i = one
    assert (b, float(n), d, t, i) == (9007199254740993, -12.5, 0.1, "l'été", 7)
    assert s.isoformat() == "2024-02-29T12:00:00"


@pytest.mark.parametrize("mode", ["extended", "prepared"])
def test_null_arrives_as_null(each_server, table, checked, mode):
    script = "\\set b :client_id\ninsert into seen values (:b, :x, :x, :x, :x, :x);"
    plan = plan_for(
        each_server.endpoint(), script, query_mode=mode, variables={"x": None}, **times(1)
    )
    assert checked(plan).counters.ok == 2
    assert rows(table) == [(0, *[None] * 5), (1, *[None] * 5)]


def test_a_table_may_be_made_by_the_script_itself(each_server, checked, io):
    script = """create temp table if not exists own (x int);
insert into own values (:client_id);
select 1 / count(*) as x from own where x <> :client_id + 1 \\gset
"""
    plan = plan_for(each_server.endpoint(), script, query_mode="prepared", io=io, **times(3))
    result = checked(plan)
    assert result.counters.ok == 6, result.done.failures


def test_results_come_back_into_variables(each_server, table, checked, io):
    script = """select 40 + :client_id as x, null as nothing \\gset
select 1 as first \\; select 2 as second \\aset
insert into seen (b, i, t) values (:x, :first * 10 + :second, 'simple');
"""
    plan = plan_for(each_server.endpoint(), script, io=io, query_mode="simple", **times(1))
    assert checked(plan).counters.ok == 2
    assert [(row[0], row[5]) for row in rows(table)] == [(40, 12), (41, 12)]


def test_a_pipeline_is_one_round_trip(each_server, table, checked, io):
    inserts = "\\startpipeline\n" + "insert into seen (b) values (:client_id);\n" * 3
    script = inserts + "\\syncpipeline\n" + "select 1;\n\\endpipeline\n"
    plan = plan_for(each_server.endpoint(), script, io=io, query_mode="extended", **times(5))
    result = checked(plan)
    assert result.counters.ok == 10
    assert len(rows(table)) == 30
    # Each statement has its own latencies, although none was awaited separately.
    inserted = [
        statement for statement in result.one(Hello).statements if "insert" in statement.sql
    ]
    assert len(inserted) == 3


def test_data_larger_than_the_socket_buffer_arrives_whole_and_in_order(local, checked, io):
    """Each statement is longer than any socket's buffer; a division by zero reveals a wrong one."""
    text = "0123456789abcdef" * (1 << 16)
    digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    statement = f"select 1 / (md5('{text}') = '{digest}')::int;\n"
    script = f"\\startpipeline\n{statement * 3}\\endpipeline\n"
    plan = plan_for(local.endpoint(), script, clients=3, io=io, query_mode="extended", **times(4))
    assert checked(plan).counters.ok == 12


def test_a_failure_in_a_pipeline_fails_its_transaction_alone(local, checked, io):
    script = """\\set divisor 1 - :client_id
\\startpipeline
select 1;
select 1 / :divisor;
select 2;
\\endpipeline
"""
    plan = plan_for(local.endpoint(), script, io=io, query_mode="prepared", **times(3))
    result = checked(plan)
    assert (result.counters.ok, result.counters.failed) == (3, 3)
    assert result.codes == {"22012": ("data", 3)}


def test_pauses_and_the_shell(local, checked, io):
    script = """\\sleep 20 ms
\\setshell answer echo :client_id
\\shell echo spoken by :client_id
select 1 / (1 + :answer - :client_id);
"""
    plan = plan_for(local.endpoint(), script, io=io, allow_shell=True, **times(2))
    result = checked(plan)
    assert result.counters.ok == 4, result.done.failures
    assert result.log.count("spoken by 1") == 2
    assert min(histogram_quantiles(result.done.response, [0])) >= 20 * MS


def test_a_background_job_of_a_shell_command_delays_no_client(local, checked):
    script = "\\shell sleep 60 > /dev/null 2>&1 &\nselect 1;"
    checked(plan_for(local.endpoint(), script, allow_shell=True, clients=1, threads=1, **times(1)))


def test_notices_go_to_the_log_frames(local, checked):
    script = "do $$ begin raise notice 'mind the gap'; end $$;"
    result = checked(plan_for(local.endpoint(), script, query_mode="simple", **times(1)))
    assert [note.text for note in result.all(Note)] == ["NOTICE: mind the gap"] * 2


def test_in_a_flood_of_notices_the_first_are_logged_and_the_others_counted(local, checked):
    script = "do $$ begin for n in 1 .. 10000 loop raise notice 'flood'; end loop; end $$;"
    plan = plan_for(local.endpoint(), script, clients=1, threads=1, query_mode="simple", **times(1))
    texts = [note.text for note in checked(plan).all(Note)]
    result = texts.count("NOTICE: flood")
    counted = [int(text.split()[-1]) for text in texts if text != "NOTICE: flood"]
    assert 5 <= result < 1000
    assert result + sum(counted) == 10000


def test_the_greeting_names_server_and_backends(each_server, checked, io):
    result = checked(plan_for(each_server.endpoint(), "select 1;", clients=5, io=io, **times(1)))
    connected = result.one(Connected)
    with each_server.connect() as connection:
        version = connection.execute("show server_version").fetchone()[0]
    assert connected.server_version == version
    assert len({pid for pid in connected.backend_pids if pid > 0}) == 5
    assert connected.connect.count == 5
