"""The facts that matter to a load: settings, tables, indexes and plans."""

import pytest
from psycopg import Connection
from psycopg.pq import TransactionStatus

from dbdyno.databases.postgresql.over_postgresql import ADAPTER
from dbdyno.databases.postgresql.telemetry.facts.examples import compared_columns
from dbdyno.databases.script_text import Prepared, names, prepared, with_variables
from dbdyno.databases.telemetry import ScriptStatement
from dbdyno.engine import tokens
from dbdyno.model.telemetry import PlanFacts, ServerFacts, TableFacts
from dbdyno.servers.base import Server

SCHEMA = """
    create table t (id int primary key, v int, note text) with (fillfactor = 90);
    create index on t (lower(note)) where v > 5;
    create index included on t (id) include (v);
    insert into t select i, i, 'n' || i from generate_series(1, 10000) i;
    analyze t"""


@pytest.fixture
def table(worker: Connection) -> None:
    worker.execute(SCHEMA)


def facts(watcher: Connection, *statements: str) -> ServerFacts:
    numbered = [ScriptStatement(number, text) for number, text in enumerate(statements)]
    return ADAPTER.telemetry.facts(watcher, numbered)


def plans(watcher: Connection, *statements: str) -> tuple[PlanFacts, ...]:
    return facts(watcher, *statements).plans


def only_table(found: ServerFacts) -> TableFacts:
    (table,) = found.tables
    return table


def test_settings_are_in_the_servers_own_units(watcher: Connection) -> None:
    found = facts(watcher)
    assert (found.settings["shared_buffers"], found.details["units"]["shared_buffers"]) == (
        "8192",
        "8kB",
    )
    expected = (
        "wal_buffers max_wal_size checkpoint_timeout checkpoint_completion_target fsync jit "
        "synchronous_commit full_page_writes wal_compression autovacuum autovacuum_naptime "
        "autovacuum_vacuum_scale_factor max_connections jit_above_cost work_mem random_page_cost "
        "effective_cache_size track_io_timing plan_cache_mode huge_pages wal_sync_method "
        "commit_delay deadlock_timeout default_transaction_isolation bgwriter_lru_maxpages "
        "log_min_duration_statement log_statement shared_preload_libraries debug_assertions"
    )
    assert set(expected.split()) <= found.settings.keys()
    assert found.is_debug_build is False
    assert found.extensions == ("plpgsql",)


def test_a_table_is_described(watcher: Connection, table) -> None:
    found = only_table(facts(watcher, "update t set v = v + :d where id = :id;"))
    assert (found.name, found.rows, found.fillfactor) == ("t", 10000, 90)
    assert found.columns == ("id", "v", "note")
    assert found.bytes == found.pages * 8192 > 10_000 * 30
    assert found.row_bytes is not None
    assert 4 + 4 + 4 <= found.row_bytes <= 4 + 4 + 8  # the columns, without row headers


def test_partitions_are_described_beside_the_whole(watcher: Connection, worker: Connection) -> None:
    worker.execute(
        "create table whole (id int primary key, v int) partition by hash (id);"
        "create table even partition of whole for values with (modulus 2, remainder 0);"
        "create table odd partition of whole for values with (modulus 2, remainder 1)"
        "    with (fillfactor = 50);"
        "insert into whole select i, i from generate_series(1, 10000) i;"
        "analyze even, odd"
    )
    found = {one.name: one for one in facts(watcher, "update whole set v = 1").tables}
    assert found.keys() == {"whole", "even", "odd"}
    assert {one.partition_of for one in found.values()} == {"", "whole"}
    assert found["whole"].rows == found["even"].rows + found["odd"].rows == 10_000
    assert (found["whole"].bytes, found["odd"].fillfactor) == (0, 50)
    assert found["odd"].bytes > found["even"].bytes > 0
    assert [index.name for index in found["even"].indexes] == ["even.even_pkey"]


def test_autovacuum_settings_of_a_single_table_are_reported(
    watcher: Connection, worker: Connection, table
) -> None:
    assert only_table(facts(watcher, "select * from t")).autovacuum == {}
    worker.execute("alter table t set (autovacuum_enabled = Off, autovacuum_vacuum_threshold = 7)")
    found = only_table(facts(watcher, "select * from t")).autovacuum
    assert found == {"autovacuum_enabled": "false", "autovacuum_vacuum_threshold": "7"}


def test_triggers_that_assign_columns_are_reported(
    watcher: Connection, worker: Connection, table
) -> None:
    assert only_table(facts(watcher, "select * from t")).assigned_by == ()
    worker.execute(
        "create function touch() returns trigger language plpgsql as 'begin return new; end';"
        "create trigger before_each before update on t for each row execute function touch();"
        "create trigger before_all before update on t execute function touch();"
        "create trigger afterwards after update on t for each row execute function touch();"
        "alter table t add twice int generated always as (v * 2) stored,"
        "    add thrice int generated always as (v * 3) stored;"
        "create index on t (twice)"
    )
    found = only_table(facts(watcher, "select * from t")).assigned_by
    assert found == ("generated column twice", "trigger before_each")


def test_a_partial_index_reports_its_share_of_the_rows(
    watcher: Connection, worker: Connection, table
) -> None:
    worker.execute("create index few on t (v) where id <= 2500; analyze t")
    shares = {one.name: one.rows_share for one in only_table(facts(watcher, "table t")).indexes}
    assert (shares["t.few"], shares["t.t_pkey"]) == (pytest.approx(0.25), 1.0)


def test_indexes_report_every_column_they_depend_on(watcher: Connection, table) -> None:
    indexes = {index.name: index for index in only_table(facts(watcher, "select * from t")).indexes}
    assert indexes["t.t_lower_idx"].columns == ("v", "note")
    assert indexes["t.included"].columns == ("id", "v")
    assert indexes["t.t_pkey"].columns == ("id",)
    assert indexes["t.t_pkey"].is_primary
    assert indexes["t.t_pkey"].is_unique
    assert indexes["t.t_pkey"].bytes > 100_000


def test_an_unanalysed_table_has_no_width(watcher: Connection, worker: Connection) -> None:
    worker.execute("create table bare (id int)")
    found = only_table(facts(watcher, "select * from bare"))
    assert (found.row_bytes, found.rows, found.fillfactor, found.indexes) == (None, 0, 100, ())


def test_plans_for_any_values_and_for_an_example(watcher: Connection, table) -> None:
    generic, custom = plans(watcher, "select * from t where id between :low and :high")
    assert (generic.variant, custom.variant) == ("generic", "custom")
    assert generic.nodes == (("Index Scan", "t", 50.0),)
    assert custom.nodes == (("Index Scan", "t", 1.0),)
    assert generic.cost > custom.cost > 0
    assert "$1" in generic.text
    assert "(id >= 5000)" in custom.text.replace("5001", "5000")


def test_settings_and_plans_are_not_those_of_the_session_that_reads_them(
    watcher: Connection, worker: Connection, table
) -> None:
    own = ("jit", "plan_cache_mode", "max_parallel_workers_per_gather", "enable_sort")
    found = facts(watcher, "select * from t order by note").settings
    for name in own:
        (elsewhere,) = worker.execute(f"show {name}".encode()).fetchone()
        assert found[name] == elsewhere
    (plan,) = plans(watcher, "select * from t order by note")
    assert plan.nodes[0][0] == "Sort"
    assert plan.cost < 10_000


def test_a_missing_index_shows(watcher: Connection, table) -> None:
    found = plans(watcher, "update t set note = 'x' where v = :v")
    assert [plan.nodes[1][:2] for plan in found] == [("Seq Scan", "t")] * 2


@pytest.mark.parametrize(
    ("condition", "converted"),
    [
        ("id = :id::numeric", [("t", "id")]),
        ("id::bigint + 1 = :id", []),
        ("note = :note::varchar(9)", []),
        ("id > :id::numeric", []),
        ("id = :id", []),
    ],
)
def test_columns_that_a_comparison_converts(
    watcher: Connection, table, condition: str, converted: list[tuple[str, str]]
) -> None:
    found = {plan.converted for plan in plans(watcher, f"select * from t where {condition}")}
    assert found == {tuple(converted)}


@pytest.mark.parametrize(
    ("condition", "compared"),
    [
        ("v = :v", ["v"]),
        ("v = 7 and note = 'x'", ["v", "note"]),
        ("v in (7, 8)", ["v"]),
        ("v = :v or note = 'x'", []),
        ("v + 1 = :v", []),
        ("v = id", []),
        ("v > :v", []),
        ("id = :id", []),
    ],
)
def test_columns_with_whose_values_a_scan_compares(
    watcher: Connection, worker: Connection, table, condition: str, compared: list[str]
) -> None:
    worker.execute("create view behind as select * from t")
    found = {plan.compared for plan in plans(watcher, f"select * from behind where {condition}")}
    assert [sorted(each) for each in found] == [sorted(("t", column) for column in compared)]


def test_tables_behind_views_and_in_other_schemas(watcher: Connection, worker: Connection) -> None:
    worker.execute("create schema other; create table other.o (id int)")
    worker.execute("create view seen as select * from other.o")
    found = facts(watcher, "select * from seen where id = :id")
    assert only_table(found).name == "other.o"
    assert found.plans[0].nodes[0][:2] == ("Seq Scan", "other.o")


def test_a_function_in_a_from_is_no_relation(watcher: Connection, table) -> None:
    found = facts(watcher, "insert into t (id) select i from generate_series(1, 9) i")
    assert only_table(found).name == "t"
    assert {relation for plan in found.plans for _, relation, _ in plan.nodes} == {"", "t"}


def test_names_with_spaces_and_capitals_behind_a_view(watcher: Connection, worker: Connection):
    worker.execute('create table "My Orders" (id int)')
    worker.execute('create view orders as select * from "My Orders"')
    assert only_table(facts(watcher, "select * from orders")).name == "My Orders"


@pytest.mark.parametrize(
    "statement",
    [
        "BEGIN;",
        "select 1; delete from t",
        "select * from nowhere where id = :id",
        "selec 1",
        "vacuum t",
        "select '",
        "",
        ";",
    ],
)
def test_statements_without_a_plan_are_left_out(watcher: Connection, table, statement: str) -> None:
    (plan,) = plans(watcher, statement, "select 1")
    assert plan.statement == 1


def test_nothing_is_carried_out_and_nothing_left(watcher: Connection, worker: Connection) -> None:
    worker.execute(SCHEMA)
    worker.execute("create sequence s")
    found = plans(
        watcher,
        "delete from t",
        "insert into t values (:id, nextval('s'), 'x')",
        "select pg_sleep(100)",
        "select * from t where id = :id for update",
        "select * from t; drop table t",
        "select 1 /* ; */; drop table t",
    )
    assert {plan.statement for plan in found} == {0, 1, 2, 3}
    assert worker.execute("select count(*) from t").fetchone() == (10000,)
    assert worker.execute("select is_called from s").fetchone() == (False,)
    assert watcher.info.transaction_status == TransactionStatus.IDLE
    left = "select count(*) from pg_prepared_statements where name like 'dbdyno%'"
    assert watcher.execute(left).fetchone() == (0,)
    assert watcher.execute("show plan_cache_mode").fetchone() == ("force_generic_plan",)


def test_plans_are_those_of_other_sessions_not_of_telemetry(
    any_database: Server, worker: Connection, table
) -> None:
    """Telemetry plans its own queries without parallel workers."""
    worker.execute("alter table t set (parallel_workers = 2)")
    for cost in ("parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size"):
        worker.execute(f"alter database {worker.info.dbname} set {cost} to 0".encode())
    with any_database.connect() as watcher:
        ADAPTER.telemetry.begin(watcher)
        (plan,) = plans(watcher, "select count(*) from t where note like '%x'")
        assert watcher.execute("show max_parallel_workers_per_gather").fetchone() == ("0",)
    assert "Gather" in {node for node, _, _ in plan.nodes}


def test_facts_without_rights(plain_watcher: Connection, worker: Connection) -> None:
    worker.execute(SCHEMA)
    found = facts(plain_watcher, "select * from t where id = :id")
    assert found.plans == ()
    assert only_table(found).row_bytes is None
    assert "shared_preload_libraries" not in found.settings
    assert found.settings["fsync"] == "on"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("update t set v = :v where id = :id;", ("update t set v = $1 where id = $2", 2)),
        ("select ':a', \":b\", :c::int", ("select ':a', \":b\", $1::int", 1)),
        ("select 1 -- :a\n + :b", ("select 1 -- :a\n + $1", 1)),
        ("select /* :a; */ $$ :b; $$, $x$ $$ :c $x$", None),
        ("select e'it\\':a', 'it''s :b', :c", ("select e'it\\':a', 'it''s :b', $1", 1)),
        ("select a[1:2], :a", ("select a[1:2], $1", 1)),
        ("select :id, :id", ("select $1, $2", 2)),
    ],
)
def test_variables_become_parameters(text: str, expected: tuple[str, int] | None) -> None:
    wanted = Prepared(*expected) if expected else Prepared(text, 0)
    assert prepared(text, "postgresql") == wanted


def test_several_statements_are_not_one() -> None:
    assert prepared("select 1; select 2", "postgresql") is None
    assert prepared("begin; end;", "postgresql") is None
    assert prepared("select 1;;\n", "postgresql") == Prepared("select 1", 0)


@pytest.mark.parametrize(
    "text", ["select 'a", "a$b$c", "é:ü::x", "/* ", '"', "$1$", "::::", "e'\\"]
)
def test_every_token_of_any_text_is_kept(text: str) -> None:
    for dialect in ("postgresql", "mysql", "standard"):
        assert "".join(token.text for token in tokens(text, dialect)) == text


def test_parameters_become_variables_and_operators_stay() -> None:
    text = "select doc ? 'k', '$1' from t where id = $1 and doc ? $2"
    expected = "select doc ? 'k', '$1' from t where id = :p1 and doc ? :p2"
    assert with_variables(text, "postgresql") == expected


def test_names_come_alone_and_qualified() -> None:
    text = "select t.id from other.\"Odd name\" as t, plain where 'x.y' = :v"
    for dialect in ("postgresql", "mysql"):
        found = names(text, dialect)
        assert found >= {"other", 'other."Odd name"', "plain", "t.id"}
        assert "x.y" not in found


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("select * from t where id = $1 and t.Kind >= $2", {1: "id", 2: "kind"}),
        ("select * from t where $1 < id", {1: "id"}),
        ("select * from t where id in ($1, $2)", {1: "id"}),
        ("select * from t where id between $1 and $2 + 99", {1: "id", 2: "id"}),
        ("insert into t values ($1)", {}),
        pytest.param(
            f"select '{'x' * 1_000_000}' from t where id = $1", {1: "id"}, id="long literal"
        ),
    ],
)
def test_columns_that_parameters_are_compared_with(text: str, columns: dict[int, str]) -> None:
    assert compared_columns(text) == columns
