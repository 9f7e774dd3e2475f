"""Analysts beside order entry: their queries on both servers, what is measured of both groups."""

import contextlib
import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dbdyno.analysis.series.planned_load import paced_rate_max
from dbdyno.databases.schema import Table
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import ClientGroup
from dbdyno.run.job import Job, read_job
from dbdyno.run.options.grammar import WeightedName, stages
from dbdyno.run.options.run_options import RunOptions
from dbdyno.workloads.ch.data import NATION_KEYS, NATIONS, REGIONS, SUPPLIERS
from dbdyno.workloads.ch.workload import QUERIES
from dbdyno.workloads.parameters import Values
from dbdyno.workloads.registry import find_workload
from tests.workloads.both_servers import KINDS, Database, command, database_on

CH, TPCC = find_workload("ch"), find_workload("tpcc")
TERMINALS = 4
LOAD = ("-c", str(TERMINALS), "--warmup", "0", "--telemetry", "off", "--seed", "3")


@dataclass(frozen=True)
class Shop:
    """The data, and the record of a run of four terminals and two analysts on it."""

    database: Database
    record: dict[str, Any]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.database.rows(query)

    def one(self, query: str) -> Any:
        return self.database.one(query)


@pytest.fixture(scope="module", params=KINDS)
def shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    with database_on(request.getfixturevalue(request.param), "ch") as database:
        database.prepare(CH, jobs=2)
        options = ("-T", "8", "-D", "analysts=2", "-D", "delivery_weight=5")
        code, record = command("run", "ch", "--target", database.server.url, *LOAD, *options)
        assert (code, record["invalid_reasons"], record["failures"]) == (0, [], [])
        yield Shop(database, record)


def test_the_added_tables(shop: Shop) -> None:
    assert shop.rows("select r_regionkey, r_name from region order by r_regionkey") == [
        *enumerate(REGIONS)
    ]
    nations = shop.rows("select n_nationkey, n_name, n_regionkey from nation order by n_nationkey")
    assert nations == [
        (key, name, region)
        for key, (name, region) in zip(NATION_KEYS, NATIONS.items(), strict=True)
    ]
    assert len(nations) == 62
    assert {region for _, _, region in nations} == set(range(5))
    keys = "select count(*), min(su_suppkey), max(su_suppkey) from supplier"
    assert shop.rows(keys) == [(SUPPLIERS, 0, SUPPLIERS - 1)]
    # Each stock row has a supplier, and each customer a nation, who are of many nations.
    without = """
        select count(*) from stock left join supplier on su_suppkey = mod(s_w_id * s_i_id, 10000)
        where su_suppkey is null"""
    assert shop.one(without) == 0
    customers = """
        select count(*), count(n_nationkey), count(distinct n_nationkey)
        from customer left join nation on n_nationkey = ascii(c_state)"""
    assert shop.rows(customers) == [(30_000, 30_000, 52)]
    assert shop.one("select count(distinct su_nationkey) from supplier") == 62
    complaints = "select count(*) from supplier where su_comment like '%Complaints%'"
    assert 5 <= shop.one(complaints) <= 60


@pytest.mark.parametrize("name", QUERIES)
def test_each_query_returns_rows(shop: Shop, name: str) -> None:
    """After a run: some are about what it has delivered, or who has not ordered in it."""
    found = shop.rows(query(name, shop.database))
    assert found
    assert all(value is not None for row in found for value in row)
    assert len(found) <= 10_000


def query(name: str, database: Database) -> str:
    scripts = {
        one.name: one.text for one in CH.scripts(CH.complete({}), database.target.sql_dialect)
    }
    (sql,) = re.findall(r"\[\[(.*?)\]\]", scripts[name], re.DOTALL)
    return str(sql)


def _of_two_districts(values: Values) -> tuple[Table, ...]:
    """The districts and orders of two districts, and all that they refer to."""
    whole = {"warehouse", "item", "stock", "region", "nation", "supplier"}
    return tuple(
        table if table.name in whole else replace(table, rows=round(table.rows * 0.2))
        for table in CH.tables(values)
    )


SMALL = dataclasses.replace(CH, tables=_of_two_districts)
# What a run leaves behind, as far as queries ask for it, and the same on every server.
TRADED = (
    "update stock set s_order_cnt = mod(s_i_id, 7)",
    "update customer set c_balance = c_id + mod(c_id, 11) where mod(c_id, 3) = 0",
    "delete from orders where mod(o_c_id, 5) = 0",
    """update order_line set ol_amount = mod(ol_i_id, 9000) + 0.01 * ol_number,
        ol_delivery_d = timestamp '2026-01-02 03:04:05'
    where ol_delivery_d is not null""",
)


@pytest.fixture(scope="module")
def traded(request: pytest.FixtureRequest) -> Iterator[list[Database]]:
    """The same rows on both servers, in databases of the collation that each has by default."""
    with contextlib.ExitStack() as stack:
        both = [
            stack.enter_context(database_on(request.getfixturevalue(kind), "ch_alike"))
            for kind in KINDS
        ]
        for database in both:
            database.prepare(SMALL)
            for statement in TRADED:
                database.connection.execute(statement)
            for table in SMALL.tables(SMALL.complete({})):
                database.connection.execute(f"analyze {OF_TABLE[database.target.name]}{table.name}")
        yield both


OF_TABLE = {"postgresql": "", "mysql": "table "}


@pytest.mark.parametrize("name", QUERIES)
def test_each_query_returns_the_same_rows_on_both_servers(
    traded: list[Database], name: str
) -> None:
    """Also those that choose, group and sort by letters, large and small."""
    one, other = (sorted(map(rounded, each.rows(query(name, each)))) for each in traded)
    assert one == other
    assert one


def rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row whose numbers are of one type, without the digits that one server alone has."""
    return tuple(
        round(float(value), 3) if isinstance(value, int | float | Decimal) else value
        for value in row
    )


def test_both_groups_run_their_own_scripts(shop: Shop) -> None:
    done = {script["name"]: script["ok"] for script in shop.record["scripts"]}
    terminals = {name: done.pop(name) for name in ("new-order", "payment", "delivery")}
    assert min(terminals.values()) > 0
    queries = {name: done.pop(name) for name in QUERIES}
    assert set(done) == {"order-status", "stock-level"}
    # Each analyst deals a deck of all queries: none is run twice more often than another.
    assert sum(queries.values()) > 0
    assert max(queries.values()) - min(queries.values()) <= 2


def test_analysts_and_terminals_are_counted_apart(shop: Shop) -> None:
    record = shop.record
    done = {script["name"]: script["ok"] for script in record["scripts"]}
    per_second = {name: many / record["duration_s"] for name, many in done.items()}
    queries = sum(done[name] for name in QUERIES)
    assert record["queries_per_hour"]["value"] == pytest.approx(
        3600 * sum(per_second[name] for name in QUERIES)
    )
    assert record["nopm"]["value"] == pytest.approx(60 * per_second["new-order"])
    assert record["efficiency"] is None
    (payment,) = (one for one in record["audit"] if one["name"] == "payment")
    assert payment["count"] == sum(done.values()) - queries
    assert [one["ok"] for one in record["checks"]] == [True] * 12
    assert "sum of d_next_o_id" in record["invariants_read"]


def job(define: dict[str, str], **options: Any) -> Job:
    items = [WeightedName("ch", 1)]
    given = RunOptions(define=tuple(define.items()), **options)
    return read_job(items, given, lambda _line: None)


def test_without_analysts_it_is_order_entry() -> None:
    values = CH.complete({"analysts": 0})
    ours, theirs = (
        {one.name: one.text for one in workload.scripts(values, "postgresql")}
        for workload in (CH, TPCC)
    )
    assert ours == theirs
    alone = job({"analysts": "0"}, clients=10)
    assert not alone.draft.groups
    assert alone.clients == alone.draft.clients == 10


def test_analysts_are_clients_besides_those_of_the_command_line() -> None:
    both = job({"analysts": "3", "mix": "deck"}, clients=10)
    assert both.clients == both.draft.clients == 13
    assert both.draft.groups == [
        ClientGroup(clients=10, scripts=5, choice="deck"),
        ClientGroup(clients=3, scripts=22, choice="deck"),
    ]


def test_the_terminals_of_a_paced_run_have_their_bound_beside_analysts() -> None:
    plan = job({"analysts": "3", "mix": "deck", "pacing": "spec"}, clients=10).draft
    assert 60 * (paced_rate_max(plan, [0]) or 0) == pytest.approx(12.605, abs=0.005)
    assert paced_rate_max(plan, [5]) is None


@pytest.mark.parametrize(
    "options", [{"rate_tps": 10.0}, {"stages": stages("1s:1c,1s:2c")}], ids=["rate", "stages"]
)
def test_a_load_that_cannot_have_analysts_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(DbdynoError, match="some clients have scripts of their own"):
        _ = job({}, **options).draft


def test_own_scripts_are_refused_beside_analysts(tmp_path: Path) -> None:
    mine = tmp_path / "mine.sql"
    mine.write_text("select 1;\n")
    with pytest.raises(DbdynoError, match="cannot share a run"):
        _ = job({}, script_files=(WeightedName(str(mine), 1),)).draft
