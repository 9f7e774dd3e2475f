"""Scripts written for pgbench's default, with variables where no parameter is possible."""

import subprocess
from functools import partial
from typing import cast

import pytest
from msgspec.structs import replace

from dbdyno.databases.mysql.driver.connection import MysqlConnection
from dbdyno.databases.mysql.driver.login import Login
from dbdyno.databases.mysql.over_mysql import ADAPTER as MYSQL
from dbdyno.databases.postgresql.over_postgresql import ADAPTER as POSTGRESQL
from dbdyno.engine import statements_with_variables
from dbdyno.model.database import Database
from dbdyno.model.plan import Plan, QueryMode
from dbdyno.report.pages.run import render_summary, run_page
from dbdyno.report.render_html import render_html
from dbdyno.run.connected_server import ConnectedServer
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.readiness import with_statements_as_text
from dbdyno.run.tools import engine_tools
from dbdyno.servers.base import Server
from tests.engine.mariadb import MariaDB
from tests.engine.postgres import Postgres
from tests.engine.running import plan_for, times
from tests.run.test_runner import Observer
from tests.support.running import run

QUOTED, NAME, NUMBER = "inside quotes", "a part of a name", "the number of a column"
SYNTAX = "the server takes no parameter there (syntax error"
SYNTAX_MARIADB = "the server takes no parameter there (You have an error in your SQL"
UNCOUNTED = "the server takes no parameter there (0 of 1 variables are parameters to it)"
PARAMETER = ""

# What each script sends as text is in the order of its statements that have variables.
ON_POSTGRESQL = {
    "begin;\nset local app.n = :n;\ninsert into seen select current_setting($$app.n$$);\nend;": [
        SYNTAX
    ],
    """begin;
declare c cursor for select i from generate_series(:n, 9) i;
fetch relative :n from c \\gset
insert into seen values (:i);
end;""": [PARAMETER, SYNTAX, PARAMETER],
    """create temp table scratch_:client_id (a int default :n, b int);
insert into scratch_:client_id (b) values (:n);
insert into seen select format('%s %s', a, b) from scratch_:client_id where a = :n;
drop table scratch_:client_id;""": [NAME] * 4,
    "create temp table own (a int default :n);\ninsert into own values (:n), (default);\n"
    "insert into seen select a from own;\ndrop table own;": [UNCOUNTED, PARAMETER],
    "insert into seen select a from part_:n where a > :n;": [NAME],
    "insert into seen select interval ':n days';": [QUOTED],
    """begin;
insert into seen values ('x:client_id');
prepare transaction 'x:client_id';
commit prepared 'x:client_id';""": [QUOTED] * 3,
    "insert into seen select (array[10,20,30,40])[:n: :n];": [PARAMETER],
    "insert into seen select 'found' from part_3 where a::text = ':n';": [QUOTED],
    "do $$begin insert into seen values (:n); end$$;": [QUOTED],
    "insert into seen select a from (select a, b, c from (values (1, 9, 7), (2, 8, 6)) v (a, b, c)"
    "order by :n limit 1) v;": [NUMBER],
    "begin;\nnotify ch, ':n';\ninsert into seen values (:n);\nend;": [QUOTED, PARAMETER],
    "insert into seen select :n /* :n */ + 1 -- :n\n;": [PARAMETER],
}
WIDE = [
    "\\set big 5000000050\ninsert into seen select count(*) from generate_series(5000000000, "
    "5000000100) id where id between :big - 10 and :big + 10;",
    "\\set low 32768 + :n\ninsert into seen values (1::int2 + :low), (:low - 1::int2);",
    "\\set d 2.5\ninsert into seen select count(*) from generate_series(1, 9) id where id < :d;",
]
ON_MARIADB = {
    "insert into seen select a from part_:n where a > :n;": [NAME],
    "insert into seen select a from `part_:n` where a > :n;": [QUOTED],
    "insert into seen values (':n');": [QUOTED],
    "insert into seen select a from part_3 order by a desc limit :n;": [PARAMETER],
    "insert into seen select a from :t where a > :n;": [SYNTAX_MARIADB],
    "set @x = :n;\ninsert into seen values (@x);": [PARAMETER],
}


def plan_of(server: Postgres | MariaDB, script: str, mode: QueryMode) -> Plan:
    """Return a plan for one client and two transactions, before any server was asked."""
    return plan_for(
        server.endpoint(),
        script,
        query_mode=mode,
        variables={"n": 3, "t": "part_3"},
        clients=1,
        threads=1,
        **times(2),
    )


def prepared_for(plan: Plan, connected: ConnectedServer) -> tuple[Plan, list[str]]:
    """Return the plan as a run makes it, and what it tells."""
    said: list[str] = []
    statements = statements_with_variables(plan)
    return with_statements_as_text(plan, statements, connected, said.append), said


def reasons(plan: Plan) -> list[str]:
    """Return why each statement with variables is sent as text, empty for one that is not."""
    return [one.as_text or "" for one in statements_with_variables(plan)]


@pytest.fixture
def seen(local):
    """Tables for results and of data, and a function that returns and forgets the results."""
    local.execute(
        "drop table if exists seen, part_3",
        "create table seen (what text)",
        "create table part_3 (a int)",
        "insert into part_3 select * from generate_series(1, 6)",
    )
    yield partial(local.execute, "with gone as (delete from seen returning *) table gone")
    local.execute("drop table seen, part_3")


def pgbench(server, folder, script: str) -> None:
    """Run a script twice with pgbench's default query mode."""
    path = folder / "script.sql"
    path.write_text(script)
    place = ["-h", server.folder, "-p", str(server.port), "-U", "postgres", "postgres"]
    options = ["-n", "-t", "2", "-D", "n=3", "-f", path]
    subprocess.run([server.binaries / "pgbench", *options, *place], check=True, capture_output=True)


@pytest.mark.parametrize("script", ON_POSTGRESQL)
def test_a_script_does_what_it_does_in_pgbench(local, seen, checked, tmp_path, script):
    pgbench(local, tmp_path, script)
    expected = seen()
    for mode in ("prepared", "extended", "simple"):
        plan = plan_of(local, script, mode)
        with local.connect() as control:
            connected = ConnectedServer(
                cast("Server", None), control, cast("Database", None), POSTGRESQL
            )
            plan, said = prepared_for(plan, connected)
        found = reasons(plan)
        if mode == "simple":
            assert found == said == []
        else:
            for reason, part in zip(found, ON_POSTGRESQL[script], strict=False):
                assert (part in reason) if part else not reason, found
            assert len(said) == sum(map(bool, found))
        result = checked(plan)
        assert (result.counters.ok, result.done.failures) == (2, [])
        assert expected
        assert seen() == expected


@pytest.mark.parametrize("script", WIDE)
@pytest.mark.parametrize("mode", ["prepared", "extended"])
def test_a_number_is_sent_in_a_type_that_holds_it(local, seen, checked, tmp_path, *, script, mode):
    pgbench(local, tmp_path, script)
    expected = seen()
    plan = plan_of(local, script, mode)
    with local.connect() as control:
        connected = ConnectedServer(
            cast("Server", None), control, cast("Database", None), POSTGRESQL
        )
        plan, said = prepared_for(plan, connected)
    assert said == []
    result = checked(plan)
    assert (result.counters.ok, result.done.failures) == (2, [])
    assert expected
    assert seen() == expected


def test_text_in_a_pipeline_stays_a_part_of_it(local, seen, checked):
    script = """\\startpipeline
begin;
set local app.n = :n;
insert into seen select current_setting($$app.n$$) || ':n' || :n::int;
end;
\\endpipeline
"""
    for mode in ("prepared", "extended"):
        plan = plan_of(local, script, mode)
        with local.connect() as control:
            connected = ConnectedServer(
                cast("Server", None), control, cast("Database", None), POSTGRESQL
            )
            plan, _ = prepared_for(plan, connected)
        result = checked(plan)
        assert (result.counters.ok, result.done.failures) == (2, [])
        assert seen() == [("333",)] * 2


def test_a_statement_is_prepared_anew_after_an_alter(local, seen, checked):
    script = """alter table part_3 add b int;
select * from part_3;
alter table part_3 drop b;
begin;
alter table part_3 add b int;
select * from part_3;
alter table part_3 drop b;
end;
select * from part_3;
"""
    result = checked(plan_of(local, script, "prepared"))
    assert (result.counters.ok, result.done.failures) == (2, [])


def test_anothers_alter_costs_a_client_one_transaction_if_it_is_open(local, seen, checked):
    script = """\\if :client_id = 0
alter table part_3 add column if not exists b int;
\\else
begin;
select 1;
select * from part_3;
end;
\\endif
"""
    plan = replace(plan_of(local, script, "prepared"), clients=2, threads=2, **times(1000))
    result = checked(plan)
    assert result.codes == {"0A000": ("other", 1)}
    assert result.counters.ok == 2 * 1000 - 1


def test_a_wrong_number_of_parameters_is_a_fault_of_the_statement(local, checked):
    plan = plan_of(local, "create temp table t (a int default :n);", "extended")
    assert checked(plan).codes == {"08P01": ("statement", 2)}


@pytest.mark.parametrize("script", ON_MARIADB)
def test_a_script_does_on_mariadb_what_it_does_as_text(mariadb, checked, script):
    mariadb.execute(
        "create table seen (what text)",
        "create table part_3 as select seq as a from seq_1_to_6",
    )
    try:
        results = []
        for mode in ("simple", "prepared"):
            plan = plan_of(mariadb, script, mode)
            with mariadb.connect(database="load_test") as driver:
                control = MysqlConnection(driver, cast("Login", None))
                connected = ConnectedServer(
                    cast("Server", None), control, cast("Database", None), MYSQL
                )
                plan, _ = prepared_for(plan, connected)
            if mode == "prepared":
                found = reasons(plan)
                for reason, part in zip(found, ON_MARIADB[script], strict=True):
                    assert (part in reason) if part else not reason, found
            result = checked(plan)
            assert (result.counters.ok, result.done.failures) == (2, [])
            results.append(mariadb.execute("select * from seen order by what"))
            mariadb.execute("delete from seen")
        assert results[0]
        assert results[1] == results[0]
    finally:
        mariadb.execute("drop table seen, part_3")


def test_record_text_and_page_say_what_was_sent_as_text(local, seen, tmp_path, monkeypatch):
    monkeypatch.setenv("DBDYNO_HOME", str(tmp_path / "home"))
    script = tmp_path / "mixed.sql"
    script.write_text("\\set n 3\nselect ':n';\nselect :n;\n")
    options = RunOptions(
        target=f"postgresql://postgres@127.0.0.1:{local.port}/postgres",
        clients=1,
        transactions=5,
        warmup_ns=0,
        telemetry="off",
        disturbance_max=1.0,
    )
    said: list[str] = []
    observer = Observer()
    observer.say = said.append
    items = [WeightedName(str(script), 1)]
    recording = run(items, options, engine_tools(), observer)
    why = ":n is inside quotes"
    assert [one.as_text for one in recording.record.statements] == [why, ""]
    assert any(why in line for line in said)
    assert why in render_summary(recording.record, recording.plan)
    page = render_html(run_page(recording))
    assert "Sent as text" in page
    assert why in page
