"""The Lua of workloads: typed parameters and rows, pipelines, retries, and what is refused."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from msgspec import UNSET, structs

from dbdyno.engine import check_plan
from dbdyno.model.frame import Failed, Hello, Interval
from dbdyno.model.plan import Pacing, Plan, Retry, Script
from dbdyno.run.job import check
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.runner import run
from dbdyno.run.tools import engine_tools
from dbdyno.servers.base import Server
from tests.engine.conftest import checked, log, refused
from tests.engine.running import EngineRun, plan_for, times
from tests.run.test_runner import Observer
from tests.workloads.shop.workload import SHOP
from tests.workloads.test_schemas import WAYS, Shop

__all__ = ["checked", "log", "refused"]  # fixtures

ALONE = {"clients": 1, "threads": 1}
Check = Callable[[Plan], EngineRun]


@pytest.fixture(params=WAYS)
def shop(
    request: pytest.FixtureRequest, new_database: Callable[[Server], Server]
) -> Iterator[Shop]:
    name = request.param.split()[0]
    made = Shop(new_database(request.getfixturevalue(name)), request.param)
    with closing(made.control), closing(made.plain):
        yield made


def lua_plan(shop: Shop, *texts: str, **changes: Any) -> Plan:
    plan = plan_for(shop.road.endpoint(), *texts, **changes)
    scripts = [structs.replace(script, language="lua") for script in plan.scripts]
    return structs.replace(plan, scripts=scripts)


TYPES = """
local add = statement("insert into seen values (:i, :n, :d, :b, :t, :at, :nothing)", {
   i = "bigint", n = "decimal", d = "double", b = "boolean", t = "text", at = "timestamp",
   nothing = "int"})
local read = statement("select i, n, d, b, t, nothing from seen where i = :i", {i = "bigint"},
   {n = "decimal", d = "double", b = "boolean"})
local change = statement("update seen set d = 1 where i = :i", {i = "bigint"})

function transaction()
   add {i = "9007199254740993", n = -12.5, d = 0.1, b = true, t = "l'été \\\\ ☃",
        at = "2024-02-29 12:00:00"}
   local rows = read {i = "9007199254740993"}
   assert(#rows == 1 and rows.touched == 1)
   local row = rows[1]
   assert(row.i == "9007199254740993" and row.n == -12.5 and row.d == 0.1, "numbers")
   assert(row.b == true, "boolean")
   assert(row.t == "l'été \\\\ ☃", row.t)
   assert(row.nothing == nil, "null")
   assert(#read {i = 7} == 0 and change {i = 7}.touched == 0)
end
"""


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_values_go_and_come_in_their_types(shop: Shop, checked: Check, mode: Any) -> None:
    shop.plain.execute(
        "create table seen (i bigint, n numeric(10, 2), d double precision, b boolean, "
        "t varchar(200), at timestamp(6), nothing int)"
    )
    result = checked(lua_plan(shop, TYPES, query_mode=mode, **ALONE, **times(1)))
    if mode == "simple" and shop.road.endpoint().protocol == "odbc":
        assert "text with a backslash needs parameters here" in str(result.done)
        return
    assert result.counters.ok == 1, result.done
    ((i, n, t),) = shop.rows("select i, n, t from seen")
    assert (i, float(n), t) == (9007199254740993, -12.5, "l'été \\ ☃")
    assert [each.line for each in result.one(Hello).statements] == [2, 5, 7]


COUNTS = """
local add = statement("insert into counted values (:client, :n)", {client = "int", n = "int"})
local read = statement("select count(*) as n from counted where client = :client",
                       {client = "int"}, {n = "int"})
function transaction()
   for number = 1, 10 do
      add:queue {client = client_id, n = random.uniform(1, 1000000)}
   end
   assert(read {client = client_id}[1].n % 10 == 0) -- waits for what was sent before
   add:queue {client = client_id, n = 0}
   flush()
   for number = 1, 9 do
      add:queue {client = client_id, n = random.uniform(1, 1000000)}
   end
end
"""


def test_queued_statements_arrive_in_order(shop: Shop, checked: Check) -> None:
    shop.plain.execute("create table counted (client int, n int)")
    result = checked(lua_plan(shop, COUNTS, **times(5)))
    assert result.counters.ok == 10, result.done
    assert shop.rows("select client, count(*) from counted group by client order by 1") == [
        (0, 100),
        (1, 100),
    ]
    first = sorted(shop.rows("select * from counted"))
    shop.plain.execute("delete from counted")
    checked(lua_plan(shop, COUNTS, **times(5)))
    assert sorted(shop.rows("select * from counted")) == first
    shop.plain.execute("delete from counted")
    checked(lua_plan(shop, COUNTS, **times(5), seed=2))
    assert sorted(shop.rows("select * from counted")) != first


def round_trips(result: EngineRun) -> int:
    return sum(interval.engine.round_trips for interval in result.all(Interval))


def pipelines(shop: Shop) -> bool:
    return shop.road.endpoint().protocol == "postgresql"


def test_what_is_waited_for_goes_out_with_what_is_queued(shop: Shop, checked: Check) -> None:
    shop.plain.execute("create table counted (client int, n int)")
    result = checked(lua_plan(shop, COUNTS, **times(1), **ALONE))
    # Ten and the one that is read; one and the flush; nine, and the end.
    assert round_trips(result) == (3 if pipelines(shop) else 21)


ASKED = """
local begin, commit = statement("begin"), statement("commit")
local add = statement("insert into counted values (:client, :n)", {client = "int", n = "int"})
local read = statement("select client, n from counted where n = :n", {n = "int"}, {n = "int"})
local change = statement("update counted set client = 7 where n <= :n", {n = "int"})
function transaction()
   begin:queue()
   local none = read:ask {n = 1}
   add:queue {client = 1, n = 1}
   local one = read:ask {n = 1}
   add:queue {client = 1, n = 2}
   local changed = change:ask {n = 2}
   local all = read {n = 1} -- and with it for all that was asked before
   assert(#none == 0 and none.touched == 0, "none")
   assert(#one == 1 and one[1].n == 1 and one[1].client == "1", "one")
   assert(changed.touched == 2 and all[1].client == "7", "changed")
   change:ask {n = 0}
   commit()
end
"""


@pytest.mark.parametrize("mode", ["simple", "prepared"])
def test_rows_that_are_asked_for_come_later(shop: Shop, checked: Check, mode: Any) -> None:
    shop.plain.execute("create table counted (client int, n int)")
    result = checked(lua_plan(shop, ASKED, query_mode=mode, **times(1), **ALONE))
    assert result.counters.committed == 1, result.done
    assert shop.rows("select * from counted order by n") == [(7, 1), (7, 2)]
    assert round_trips(result) == (2 if pipelines(shop) and mode != "simple" else 9)


@pytest.mark.parametrize("mode", ["extended", "prepared"])
def test_a_statement_without_parameters_is_a_part_of_a_pipeline_too(
    postgres_server: Server, checked: Check, mode: Any
) -> None:
    script = """
        local begin, commit = statement("begin"), statement("commit")
        local within = statement("select ':n' as n", {n = "int"}, {n = "int"})
        function transaction()
           begin:queue()
           local first = within:ask {n = 3}
           local second = within {n = 4}
           assert(first[1].n == 3 and second[1].n == 4)
           commit()
        end"""
    plan = plan_for(postgres_server.endpoint(), "", query_mode=mode, **ALONE, **times(1))
    lua = Script(name="mine", text=script, language="lua")
    result = checked(structs.replace(plan, scripts=[lua]))
    assert (result.counters.committed, round_trips(result)) == (1, 2), result.done


def test_an_error_in_a_pipeline_is_its_statement_s(shop: Shop, checked: Check) -> None:
    shop.plain.execute("create table counted (client int primary key)")
    shop.plain.execute("insert into counted values (1)")
    script = """
        local begin, commit = statement("begin"), statement("commit")
        local add = statement("insert into counted values (:client)", {client = "int"})
        local read = statement("select client from counted where client = :n", {n = "int"})
        function transaction()
           begin:queue()
           add:queue {client = 2}
           add:queue {client = 1}
           local rows = read:ask {n = 2}
           assert(#read {n = 1} == 1, "the pipeline was not waited for")
           commit()
        end"""
    result = checked(lua_plan(shop, script, **times(3), **ALONE))
    assert (result.counters.ok, result.counters.failed) == (0, 3), result.done
    (failure,) = result.done.failures
    assert failure.statement == 2
    assert shop.rows("select client from counted") == [(1,)]


def test_a_stale_statement_is_not_repeated_without_what_was_queued_before(
    postgres_server: Server, checked: Check
) -> None:
    """Its error undoes what shares its synchronization point."""
    with closing(postgres_server.connect()) as control:
        control.execute("drop table if exists changing, written")
        control.execute("create table changing (a int)")
        control.execute("create table written (n int)")
        script = """
            local add = statement("insert into written values (1)")
            local alter = statement("do $$ begin alter table changing alter a type bigint; end $$")
            local read = statement("select * from changing")
            function transaction()
               read()
               alter()
               add:queue()
               read()
            end"""
        plan = plan_for(postgres_server.endpoint(), "", retry=Retry(tries_max=1), **ALONE)
        lua = Script(name="mine", text=script, language="lua")
        result = checked(structs.replace(plan, scripts=[lua], **times(1)))
        written = control.execute("select count(*) from written").fetchone()[0]
        control.execute("drop table changing, written")
    assert (result.counters.ok, written, set(result.codes)) == (0, 0, {"0A000"})


def test_a_procedure_may_roll_back(postgres_server: Server, checked: Check) -> None:
    script = """
        local one = statement("select 1")
        function transaction()
           one()
           if random.uniform(1, 2) == 1 then rolled_back() end
        end"""
    plan = plan_for(postgres_server.endpoint(), "", **times(50))
    lua = Script(name="mine", text=script, language="lua")
    result = checked(structs.replace(plan, scripts=[lua]))
    counters = result.counters
    assert counters.ok == counters.committed + counters.rolled_back == 100
    assert 20 < counters.rolled_back < 80


def test_what_is_deferred_is_executed_elsewhere_for_its_client(
    postgres_server: Server, checked: Check
) -> None:
    script = Script(
        name="mine",
        text="""
        local loaded_as = client_id
        local note = statement(
           "insert into deferred values (:client, :executor, pg_backend_pid(), :n)",
           {client = "int", executor = "int", n = "int"})
        function transaction()
           note {client = client_id, executor = loaded_as, n = random.uniform(1, 1000000000)}
        end""",
        language="lua",
        pacing=Pacing(keying_ns=5_000_000, think_mean_ns=0),
        is_deferred=True,
    )
    seen = []
    with closing(postgres_server.connect()) as control:
        control.execute("create table deferred (client int, executor int, backend int, n int)")
        for threads in (1, 2):
            plan = plan_for(postgres_server.endpoint(), "", clients=5, threads=threads, **times(10))
            result = checked(structs.replace(plan, scripts=[script], executors=2))
            counters = result.counters
            assert (counters.due, counters.ok, counters.waiting) == (30, 30, 0), result.done
            rows = control.execute("select client, executor, n, backend from deferred").fetchall()
            control.execute("delete from deferred")
            assert {executor for _, executor, _, _ in rows} == {3, 4}
            assert len({backend for *_, backend in rows}) == 2
            seen.append(sorted((client, n) for client, _, n, _ in rows))
        control.execute("drop table deferred")
    # Its client's random numbers, whoever executes it.
    assert seen[0] == seen[1]
    assert [client for client, _ in seen[0]] == [0] * 10 + [1] * 10 + [2] * 10


@pytest.mark.parametrize(
    ("executors", "pacing"),
    [
        (1, Pacing(keying_ns=1, think_mean_ns=0)),
        (4, Pacing(keying_ns=1, think_mean_ns=0)),
        (2, UNSET),
    ],
)
def test_what_cannot_be_deferred_is_refused(
    postgres_server: Server, refused: Callable[[Plan], Failed], executors: int, pacing: Any
) -> None:
    plan = plan_for(postgres_server.endpoint(), "select 1;", clients=4, threads=2)
    script = structs.replace(plan.scripts[0], is_deferred=True, pacing=pacing)
    failed = refused(structs.replace(plan, scripts=[script], executors=executors))
    assert failed.code == "bad_plan"
    assert "an executor in each thread" in failed.message


def test_a_deadlock_is_tried_again_and_counts_once(shop: Shop, checked: Check) -> None:
    shop.plain.execute("create table pair (id int primary key, n int)")
    shop.plain.execute("insert into pair values (0, 0), (1, 0)")
    script = """
        local begin, commit = statement("begin"), statement("commit")
        local add = statement("update pair set n = n + :n where id = :id", {n = "int", id = "int"})
        local note = statement("insert into pair values (:id, :n)", {n = "int", id = "int"})
        function transaction()
           local n = random.uniform(1, 1000000)
           begin()
           add {id = client_id, n = 1}
           sleep(0.05)
           add {id = 1 - client_id, n = 1}
           note {id = 10 + random.uniform(1, 2000000000), n = n}
           commit()
        end"""
    retry = Retry(tries_max=50)
    result = checked(lua_plan(shop, script, retry=retry, **times(4)))
    counters = result.counters
    assert (counters.ok, counters.failed) == (8, 0), result.done
    assert counters.retries > 0
    assert shop.rows("select n from pair where id < 2") == [(8,), (8,)]
    # Another try draws the same numbers, so that the rows are those of a run without deadlocks.
    drawn = shop.rows("select id, n from pair where id > 1 order by id")
    shop.plain.execute("delete from pair where id > 1")
    checked(lua_plan(shop, script, retry=retry, **{**times(4), "clients": 1, "threads": 1}))
    alone = shop.rows("select id, n from pair where id > 1")
    assert len(drawn) == 8
    assert set(alone) <= set(drawn)


COUNTED = """
local shared, own = counter("shared"), counter("of {name}")
local never = counter("never")
local begin, rollback = statement("begin"), statement("rollback")
local add = statement("insert into once values (:n)", {{n = "int"}})
function transaction()
   local n = random.uniform(1, 3)
   for _ = 1, n do shared() end
   begin()
   add {{n = n}}
   own(5)
   rollback()
end"""


def test_counters_are_of_all_clients_and_of_what_was_rolled_back(
    shop: Shop, checked: Check
) -> None:
    shop.plain.execute("create table once (n int)")
    texts = [COUNTED.format(name=name) for name in ("one", "other")]
    result = checked(lua_plan(shop, *texts, **times(20)))
    assert result.counters.ok == 40, result.done
    found = result.done.counted
    ok = [sum(each.scripts[number].ok for each in result.all(Interval)) for number in (0, 1)]
    assert set(found) == {"shared", "of one", "of other", "never"}
    assert [found["of one"], found["of other"]] == [5 * count for count in ok]
    assert 40 < found["shared"] < 120
    assert found["never"] == 0
    again = checked(lua_plan(shop, *texts, **times(20)))
    assert again.done.counted == found


def test_what_a_try_counted_that_failed_does_not_count(shop: Shop, checked: Check) -> None:
    shop.plain.execute("create table pair (id int primary key, n int)")
    shop.plain.execute("insert into pair values (0, 0), (1, 0)")
    script = """
        local tries = counter("tries")
        local begin, commit = statement("begin"), statement("commit")
        local add = statement("update pair set n = n + 1 where id = :id", {id = "int"})
        function transaction()
           tries()
           begin()
           add {id = client_id}
           sleep(0.05)
           add {id = 1 - client_id}
           commit()
        end"""
    result = checked(lua_plan(shop, script, retry=Retry(tries_max=50), **times(4)))
    assert result.counters.retries > 0
    assert (result.counters.ok, result.done.counted) == (8, {"tries": 8})


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("function transaction(", 1, "expected near"),
        ("local x = 1", 0, "cannot find the function transaction()"),
        ('\nstatement("select :a", {a = "money"})', 2, "a has the unknown type 'money'"),
        ('statement("select 1; select 2")\nfunction transaction() end', 0, "one SQL command"),
        ("error('no')", 1, "no"),
        ("hash(7, 0)", 0, "a hash has no remainder by 0"),
        ("math.random()", 1, "attempt to call field 'random'"),
        ("os.execute('true')", 1, "attempt to index global 'os'"),
    ],
)
def test_mistakes_are_found_before_the_run(
    postgres_server: Server, text: str, line: int, message: str
) -> None:
    plan = plan_for(postgres_server.endpoint(), "")
    script = Script(name="mine", text=text, language="lua")
    (problem,) = check_plan(structs.replace(plan, scripts=[script]))
    assert message in problem.message
    assert (problem.severity, problem.line) == ("error", line)


def test_languages_do_not_mix(postgres_server: Server) -> None:
    plan = plan_for(postgres_server.endpoint(), "select 1;")
    lua = Script(name="mine", text="function transaction() end", language="lua")
    (problem,) = check_plan(structs.replace(plan, scripts=[*plan.scripts, lua]))
    assert "cannot share a run with other scripts" in problem.message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("begin()", "the script ends inside a transaction block"),
        ("one {n = {}}", "parameter n of line 2: a table was given where a whole number"),
        ("random.uniform(2, 1)", "the range from 2 to 1 is empty"),
        ("nothing.at_all()", "attempt to index global 'nothing'"),
        ("counter('late')", "a counter is declared outside of transaction()"),
    ],
)
def test_a_fault_names_its_line(
    postgres_server: Server, checked: Check, body: str, message: str
) -> None:
    script = f"""local begin = statement("begin")
local one = statement("select :n", {{n = "int"}})
function transaction()
   {body}
end"""
    plan = plan_for(postgres_server.endpoint(), "", **ALONE, **times(1))
    lua = Script(name="mine", text=script, language="lua")
    result = checked(structs.replace(plan, scripts=[lua]))
    assert result.counters.ok == 0
    assert message in str(result.done), result.done


@pytest.mark.usefixtures("home")
def test_a_workload_of_lua_runs_as_any_other(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbdyno.run.work.find_workload", lambda _name: SHOP)
    options = RunOptions(
        target=shop.road.conninfo,
        define=(("scale", "2"),),
        clients=4,
        transactions=25,
        warmup_ns=0,
        telemetry="off",
        disturbance_max=1.0,
        tries_max=20,
    )
    observer = Observer()
    job = check([WeightedName("shop", 1)], options, engine_tools(), observer.say)
    record = run(job, engine_tools(), observer).record
    assert (record.status, record.invalid_reasons) == ("done", []), record
    assert record.transactions.ok == 100
    orders = shop.rows("select count(*) from shop_order where o_id >= 1000")[0][0]
    assert 0 < orders < 100
