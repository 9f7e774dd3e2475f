"""Order entry: how its tables may be stored, and data that it must not use or touch."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dbdyno.errors import DbdynoError
from tests.workloads.both_servers import KINDS, TPCC, Database, command, database_on
from tests.workloads.test_tpcc import SMALL

POSTGRES, MARIADB = KINDS
LOAD = ("-c", "6", "-t", "50", "--warmup", "0", "--telemetry", "off", "--seed", "5")
FOREIGN_KEYS = 10
BY_WAREHOUSE = ["customer", "history", "new_order", "order_line", "orders", "stock"]


@contextmanager
def fresh(request: pytest.FixtureRequest, kind: str) -> Iterator[Database]:
    """A database of its own that has nothing."""
    with database_on(request.getfixturevalue(kind), "tpcc_storage") as database:
        yield database


@pytest.fixture(params=KINDS)
def empty(request: pytest.FixtureRequest) -> Iterator[Database]:
    with fresh(request, request.param) as database:
        yield database


# What each server can store, all of it in one data set.
STORED = {
    POSTGRES: [
        {"scale": 2, "partitions": 2, "foreign_keys": True, "fillfactor": 80},
        {"scale": 2, "partitions": 3, "partition_method": "hash"},
    ],
    MARIADB: [{"foreign_keys": True}, {"scale": 2, "partitions": 2}],
}


@pytest.mark.parametrize(
    ("kind", "given"), [(kind, given) for kind in KINDS for given in STORED[kind]]
)
def test_transactions_keep_the_conditions_however_the_tables_are_stored(
    request: pytest.FixtureRequest, kind: str, given: dict[str, Any]
) -> None:
    with fresh(request, kind) as database:
        database.prepare(TPCC, **given)
        assert database.prepare(TPCC, **given).report is None  # it is what was asked for
        found = database.target.find_tables(database.connection, [*BY_WAREHOUSE, "item"])
        divided = {name: table.partitioning for name, table in found.items()}
        assert divided.pop("item") is None
        assert {(one.count if one else 0) for one in divided.values()} == {
            given.get("partitions", 0)
        }
        keys = sum(len(table.foreign_keys) for table in found.values())
        keys += len(
            database.target.find_tables(database.connection, ["district"])["district"].foreign_keys
        )
        assert keys == (FOREIGN_KEYS if given.get("foreign_keys") else 0)
        words = [word for name, value in given.items() for word in ("-D", f"{name}={value}")]
        code, record = command("run", "tpcc", "--target", database.server.url, *words, *LOAD)
        assert (code, record["invalid_reasons"]) == (0, [])
        assert record["transactions"]["ok"] == 300
        assert [one["id"] for one in record["checks"] if not one["ok"]] == []
        assert len(record["checks"]) == 12


def test_partitions_divide_the_warehouses(request: pytest.FixtureRequest) -> None:
    with fresh(request, POSTGRES) as database:
        database.prepare(SMALL, scale=5, partitions=2, fillfactor=70)
        rows = database.rows(
            "select tableoid::regclass::text, min(s_w_id), max(s_w_id) from stock group by 1"
        )
        assert sorted(rows) == [("stock_1", 1, 1)]  # of SMALL's rows all are the first's
        bounds = "select pg_get_expr(relpartbound, oid) from pg_class where relname = 'orders_2'"
        assert database.one(bounds).startswith("FOR VALUES FROM (")
        kept = "select count(*) from pg_class where relname ~ '^orders_.$' and reloptions = '{}'"
        kept = kept.replace("{}", "{fillfactor=70}")
        assert database.one(kept) == 2


def test_mariadb_refuses_foreign_keys_of_partitions_before_anything_is_touched(
    request: pytest.FixtureRequest,
) -> None:
    with fresh(request, MARIADB) as database:
        with pytest.raises(DbdynoError, match="partitioned tables with foreign keys") as caught:
            database.prepare(TPCC, partitions=2, foreign_keys=True)
        assert caught.value.code == "bad_parameter"
        assert "leave out partitions or foreign_keys" in caught.value.hint
        assert tables_of(database) == []


def tables_of(database: Database) -> list[str]:
    schema = "database()" if database.target.name == "mysql" else "'public'"
    query = f"select table_name from information_schema.tables where table_schema = {schema}"
    return sorted(name for (name,) in database.rows(query))


# The tables of others for this load, as far as they matter: how their makers declare them.
OTHERS = {
    "HammerDB": [
        "create table warehouse (w_id int, w_name varchar(10))",
        "create table orders (o_entry_d timestamp, o_id int, o_w_id int, o_c_id int, o_d_id int)",
    ],
    "HammerDB, whose": [
        "create table orders (o_id int, o_w_id int, o_d_id int, o_c_id int, o_carrier_id int, "
        "o_ol_cnt int, o_all_local int, o_entry_d timestamp)",
    ],
    "BenchBase": [
        "create table warehouse (w_id int, w_ytd decimal(12,2), w_tax decimal(4,4))",
        "create table oorder (o_w_id int, o_d_id int, o_id int, o_c_id int, o_carrier_id int)",
    ],
    "sysbench-tpcc": [
        "create table warehouse1 (w_id int, w_name varchar(10))",
        "create table new_orders1 (no_o_id int, no_d_id int, no_w_id int)",
    ],
    "BenchmarkSQL": ["create table bmsql_warehouse (w_id int, w_ytd decimal(12,2))"],
}


@pytest.mark.parametrize("tool", OTHERS)
def test_tables_of_another_tool_are_named_and_left_alone(empty: Database, tool: str) -> None:
    for statement in OTHERS[tool]:
        empty.connection.execute(statement)
    before = tables_of(empty)
    with pytest.raises(DbdynoError, match=f"is a table of {tool.partition(',')[0]}, ") as caught:
        empty.prepare(TPCC)
    assert caught.value.code == "data_in_the_way"
    assert caught.value.hint.startswith("give tpcc a database of its own; --replace drops ")
    ended = run("check", "tpcc", "--target", empty.server.url)
    assert ended.returncode != 0
    assert f"is a table of {tool.partition(',')[0]}" in " ".join(ended.stderr.split())
    assert tables_of(empty) == before


def test_beside_the_tables_of_another_tool_own_data_is_used(empty: Database) -> None:
    empty.prepare(SMALL)
    empty.connection.execute("create table oorder (o_w_id int, o_d_id int, o_id int)")
    assert empty.prepare(SMALL).report is None


# What somebody has done to a table, and what is said of it.
ALTERED = {
    "alter table customer drop column c_data": "customer has other columns: c_data is missing",
    "alter table stock add column note int": "stock has other columns: it has note, too",
    "alter table item alter column i_price type decimal(9,2)": (
        r"item has other columns: i_price is decimal\(9,2\) and not decimal\(5,2\)"
    ),
    # As versions before have made it.
    "alter table warehouse alter column w_ytd type decimal(12,2)": (
        r"warehouse has other columns: w_ytd is decimal\(12,2\) and not decimal\(16,2\)"
    ),
    "drop table history": "without history",
    "alter table orders drop constraint orders_customer": (
        r"orders lacks the unique key \(o_w_id, o_d_id, o_c_id, o_id\)"
    ),
    "delete from customer where c_id > 700": "customer has 2[0-9]{2} of 1000 rows looked up",
    "delete from item": "item has 0 of 1000 rows looked up",
}
OF_MARIADB = {
    "alter table item alter column i_price type decimal(9,2)": (
        "alter table item modify i_price decimal(9,2)"
    ),
    "alter table warehouse alter column w_ytd type decimal(12,2)": (
        "alter table warehouse modify w_ytd decimal(12,2)"
    ),
}


@pytest.mark.parametrize("statement", ALTERED)
def test_a_table_that_was_altered_is_refused(empty: Database, statement: str) -> None:
    empty.prepare(SMALL)
    is_mariadb = empty.target.name == "mysql"
    empty.connection.execute(OF_MARIADB.get(statement, statement) if is_mariadb else statement)
    with pytest.raises(DbdynoError, match=ALTERED[statement]) as caught:
        empty.prepare(SMALL)
    assert caught.value.code == "data_in_the_way"
    assert caught.value.hint.startswith("--replace drops warehouse, district, ")
    assert empty.prepare(SMALL, replace=True).report is not None


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dbdyno", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_another_scale_than_that_of_the_data_is_refused(empty: Database) -> None:
    empty.prepare(SMALL, scale=2)
    for command_name in ("load", "run"):
        ended = run(command_name, "tpcc", "-s", "3", "--target", empty.server.url, "--json")
        assert ended.returncode == 1, ended.stderr
        error = json.loads(ended.stdout)["error"]
        assert "its scale is 2, and 3 was requested" in error["message"]
    assert empty.one("select count(*) from warehouse") == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-s", "0"), "scale cannot be 0"),
        (("-s", "1.5"), "1.5"),
        (("-D", "scale=0"), "scale cannot be 0"),
        (("-D", "scale=2.5"), "scale cannot be 2.5"),
        (("-D", "scale=-1"), "scale cannot be -1"),
        (("-s", "8", "-D", "pacing=spec", "-c", "7"), "8 warehouses have at least as many"),
        (("-D", "partitions=-1"), "partitions cannot be -1"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_before_anything_is_touched(
    empty: Database, words: tuple[str, ...], said: str
) -> None:
    ended = run("run", "tpcc", "--target", empty.server.url, *words)
    assert ended.returncode == 1, ended.stderr
    assert said in " ".join(ended.stderr.split())
    assert tables_of(empty) == []


# Of each server: a database that does not sort by bytes, and how a plan says that rows are sorted.
LINGUISTIC = {
    POSTGRES: ("template template0 locale_provider icu icu_locale 'en-US'", "Sort"),
    MARIADB: ("collate utf8mb4_unicode_ci", "filesort"),
}
BY_NAME = """select c_id, c_first from customer
    where c_w_id = 1 and c_d_id = 1 and c_last = 'SAME' order by c_first"""
FIRST_NAMES = ["bert", "Carl", "\u00c4nne", "anna", "Bea"]  # the numbers of the customers: 1 to 5


@pytest.mark.parametrize("kind", KINDS)
def test_customers_of_a_name_have_the_same_order_in_every_collation(
    request: pytest.FixtureRequest, kind: str
) -> None:
    options, sorting = LINGUISTIC[kind]
    with database_on(request.getfixturevalue(kind), "tpcc_names", options) as database:
        assert [name for (name,) in database.rows(f"select n from {AS_ROWS} order by n")] == [
            *("anna", "\u00c4nne", "Bea", "bert", "Carl")
        ]
        database.prepare(SMALL)
        for number, name in enumerate(FIRST_NAMES, 1):
            database.connection.execute(
                f"update customer set c_last = 'SAME', c_first = '{name}' "
                f"where c_d_id = 1 and c_id = {number}"
            )
        found = database.rows(BY_NAME)
        assert [name for _, name in found] == sorted(FIRST_NAMES)
        assert found[2] == (4, "anna")  # in other orders it would be 5, Bea
        plan = str(database.rows(f"explain {BY_NAME}"))
        assert "customer_name" in plan
        assert sorting not in plan


AS_ROWS = "(" + " union all ".join(f"select '{name}' as n" for name in FIRST_NAMES) + ") names"
