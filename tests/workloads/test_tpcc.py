"""Order entry: its population, its conditions and what breaks them, its transactions."""

import collections
import dataclasses
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml
from msgspec.structs import replace

from dbdyno.analysis.series.planned_load import paced_rate_max
from dbdyno.databases.schema import Table
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Stage
from dbdyno.servers.base import Server
from dbdyno.workloads.conditions import told
from dbdyno.workloads.parameters import Values
from dbdyno.workloads.status import Mark, data_status
from tests.support.plans import plan_of
from tests.workloads.both_servers import KINDS, TPCC, Database, command, database_on
from tests.workloads.row_hashes import row_hashes
from tests.workloads.test_schemas import last_name

NAMES = [table.name for table in TPCC.tables(TPCC.complete({}))]


@pytest.fixture(scope="module")
def loaded(postgres_server: Server, mariadb_server: Server) -> Iterator[dict[str, Database]]:
    """A warehouse on each server, loaded over one connection here and over three there."""
    with (
        database_on(postgres_server, "tpcc_whole") as one,
        database_on(mariadb_server, "tpcc_whole") as other,
    ):
        one.prepare(TPCC, jobs=1)
        other.prepare(TPCC, jobs=3)
        for database in (one, other):
            execute(database, KEPT)
        yield dict(zip(KINDS, (one, other), strict=True))


@pytest.fixture(params=KINDS)
def whole(request: pytest.FixtureRequest, loaded: dict[str, Database]) -> Database:
    return loaded[request.param]


def test_rows_are_the_same_on_every_server_and_number_of_connections(
    loaded: dict[str, Database],
) -> None:
    one, other = (row_hashes(database, TABLES) for database in loaded.values())
    assert one == other


def test_the_population_is_that_of_the_definition(whole: Database) -> None:
    counts = {name: whole.one(f"select count(*) from {name}") for name in NAMES}
    lines = counts.pop("order_line")
    assert counts == {
        **{"warehouse": 1, "district": 10, "customer": 30_000, "history": 30_000},
        **{"item": 100_000, "stock": 100_000, "orders": 30_000, "new_order": 9_000},
    }
    assert lines == whole.one("select sum(o_ol_cnt) from orders")
    assert lines == pytest.approx(300_000, rel=0.01)
    assert set(
        whole.rows("select count(distinct o_c_id), count(*) from orders group by o_d_id")
    ) == {(3000, 3000)}
    assert sorted(n for (n,) in whole.rows("select distinct o_ol_cnt from orders")) == [
        *range(5, 16)
    ]
    assert whole.rows("select min(no_o_id), max(no_o_id) from new_order") == [(2101, 3000)]
    delivered = """
        select count(*) from order_line
        where not case when ol_o_id < 2101 then ol_delivery_d is not null and ol_amount = 0
            else ol_delivery_d is null and ol_amount between 0.01 and 9999.99 end"""
    assert whole.one(delivered) == 0
    wrong = "select count(*) from orders where (o_carrier_id is null) <> (o_id > 2100)"
    assert whole.one(wrong) == 0

    names = whole.rows("select c_last from customer where c_d_id = 3 order by c_id limit 1000")
    assert [name for (name,) in names] == [last_name(number) for number in range(1000)]
    assert whole.one("select count(distinct c_last) from customer") == 1000
    assert whole.rows("select distinct c_middle, c_balance, c_ytd_payment from customer") == [
        ("OE", -10, 10)
    ]
    lengths = "select min(length(c_data)), max(length(c_data)) from customer"
    assert whole.rows(lengths) == [(300, 500)]
    for query in (
        "select count(*) / 3000.0 from customer where c_credit = 'BC'",
        "select count(*) / 10000.0 from item where i_data like '%ORIGINAL%'",
        "select count(*) / 10000.0 from stock where s_data like '%ORIGINAL%'",
    ):
        assert float(whole.one(query)) == pytest.approx(1.0, rel=0.1)
    prices = whole.rows("select min(i_price), max(i_price) from item")[0]
    assert (float(prices[0]), float(prices[1])) == pytest.approx((1, 100), abs=0.2)
    assert whole.one("select count(*) from customer where c_zip not like '____11111'") == 0
    assert whole.one("select count(*) from stock where s_quantity not between 10 and 100") == 0


def test_conditions_hold_after_loading(whole: Database) -> None:
    assert whole.broken() == {}
    values = data_status(TPCC, whole.target, whole.connection, {}).values(TPCC, {})
    checked = TPCC.check(whole.target, whole.connection, values)
    assert [law.violation for law in checked if law.violation] == []


def test_the_data_knows_what_was_drawn_with_it(whole: Database) -> None:
    found = whole.target.find_tables(whole.connection, NAMES)
    marks = {Mark.of(table.comment) for table in found.values()}
    assert marks == {Mark(data="tpcc", scale=1, loaded=True, drawn=(("c_load", drawn()),))}
    status = data_status(TPCC, whole.target, whole.connection, {})
    assert status.values(TPCC, {})["c_load"] == drawn()


def drawn() -> int:
    return TPCC.drawn_with(11)["c_load"]


def test_constants_of_a_run_are_as_far_from_those_of_the_data_as_defined() -> None:
    def constant(loaded: int, seed: int) -> int:
        values = {"scale": 1, "c_load": loaded, "pacing": "off"}
        return int(TPCC.variables(values, 1, seed)["c_last"])

    deltas = collections.Counter(
        abs(constant(loaded, seed) - loaded) for loaded in range(0, 256, 5) for seed in range(400)
    )
    assert set(deltas) == {*range(65, 120)} - {96, 112}
    assert TPCC.drawn_with(1) == TPCC.drawn_with(1)
    assert len({TPCC.drawn_with(seed)["c_load"] for seed in range(100)}) > 50


@pytest.mark.parametrize(
    ("weights", "nopm_max"), [([10, 10, 1, 1, 1], 12.605), ([45, 43, 4, 4, 4], 12.86)]
)
def test_ten_paced_terminals_can_order_as_much_as_the_definition_says(
    weights: list[int], nopm_max: float
) -> None:
    names = ("new_order", "payment", "order_status", "delivery", "stock_level")
    given = {f"{name}_weight": weight for name, weight in zip(names, weights, strict=True)}
    scripts = TPCC.scripts(TPCC.complete({**given, "pacing": "spec"}), "postgresql")
    plan = replace(plan_of(clients=10), scripts=scripts)
    assert 60 * (paced_rate_max(plan, [0]) or 0) == pytest.approx(nopm_max, abs=0.005)
    unpaced = replace(plan, scripts=TPCC.scripts(TPCC.complete(given), "postgresql"))
    assert paced_rate_max(unpaced, [0]) is None
    changing = [Stage(duration_ns=1, clients=1), Stage(duration_ns=1, clients=2)]
    assert paced_rate_max(replace(plan, stages=changing), [0]) is None


def test_paced_warehouses_without_a_terminal_are_refused() -> None:
    values = TPCC.complete({"scale": 8, "pacing": "spec"})
    with pytest.raises(DbdynoError, match="8 warehouses have at least as many terminals") as caught:
        TPCC.variables(values, 7, 1)
    assert caught.value.hint == "Each warehouse has ten: -c 80"
    assert TPCC.variables(values, 8, 1)["scale"] == 8
    assert TPCC.variables({**values, "pacing": "off"}, 1, 1)["scale"] == 8


# What breaks a condition, and what mends it; which others it breaks; the rows, and their first.
# It is the customer of an order that is not delivered: of nothing delivered there is no sum.
CUSTOMER = """c_d_id = 1 and c_id =
    (select o_c_id from orders where o_w_id = 1 and o_d_id = 1 and o_id = 2900)"""
LINE = "ol_d_id = 1 and ol_o_id = 10"
CORRUPTIONS = {
    1: (
        ["update district set d_ytd = d_ytd + 1 where d_id = 2"],
        ["update district set d_ytd = d_ytd - 1 where d_id = 2"],
        {1, 9},
        (1, {"w_id": 1, "w_ytd": "60000.00", "d_ytd": "60001.00"}),
    ),
    2: (
        ["update district set d_next_o_id = d_next_o_id + 1 where d_id = 1"],
        ["update district set d_next_o_id = d_next_o_id - 1 where d_id = 1"],
        {2},
        (1, {"d_id": 1, "d_next_o_id": 3002, "newest_order": 3000, "newest_new_order": 3000}),
    ),
    3: (
        ["delete from new_order where no_d_id = 1 and no_o_id = 2500"],
        ["insert into new_order (no_o_id, no_d_id, no_w_id) values (2500, 1, 1)"],
        {3, 5, 11},
        (1, {"d_id": 1, "oldest": 2101, "newest": 3000, "new_orders": 899}),
    ),
    4: (
        ["update orders set o_ol_cnt = o_ol_cnt + 1 where o_d_id = 2 and o_id = 10"],
        ["update orders set o_ol_cnt = o_ol_cnt - 1 where o_d_id = 2 and o_id = 10"],
        {4, 6},
        (1, {"w_id": 1, "d_id": 2}),
    ),
    5: (
        ["insert into new_order (no_o_id, no_d_id, no_w_id) values (2100, 2, 1)"],
        ["delete from new_order where no_d_id = 2 and no_o_id = 2100"],
        {5, 11},
        (1, {"w_id": 1, "d_id": 2, "o_id": 2100, "without_carrier": 0, "new_orders": 1}),
    ),
    6: (
        [f"update order_line set ol_o_id = 5000 where {LINE}"],
        ["update order_line set ol_o_id = 10 where ol_d_id = 1 and ol_o_id = 5000"],
        {6},
        (2, {"w_id": 1, "d_id": 1, "o_id": 10, "order_lines": 0}),
    ),
    7: (
        [f"update order_line set ol_delivery_d = null where {LINE} and ol_number = 3"],
        [f"update order_line set ol_delivery_d = '2026-01-01' where {LINE} and ol_number = 3"],
        {7},
        (1, {"d_id": 1, "o_id": 10, "line": 3, "has_delivery_date": 0}),
    ),
    8: (
        ["update warehouse set w_ytd = w_ytd + 1", "update district set d_ytd = d_ytd + 0.5"],
        ["update warehouse set w_ytd = w_ytd - 1", "update district set d_ytd = d_ytd - 0.5"],
        {8, 9},
        (1, {"w_id": 1, "w_ytd": "60001.00", "h_amount": "60000.00"}),
    ),
    9: (
        ["update district set d_ytd = d_ytd + d_id * 2 - 3"],
        ["update district set d_ytd = d_ytd - d_id * 2 + 3"],
        {9},
        (2, {"w_id": 1, "d_id": 1, "d_ytd": "29999.00", "h_amount": "30000.00"}),
    ),
    10: (
        [
            "update customer set c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 "
            f"where {CUSTOMER}"
        ],
        [
            "update customer set c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1 "
            f"where {CUSTOMER}"
        ],
        {10},
        (1, {"d_id": 1, "c_balance": "-9.00", "ol_amount": "0.00", "h_amount": "10.00"}),
    ),
    11: (
        [f"update customer set c_delivery_cnt = 1 where {CUSTOMER}"],
        [f"update customer set c_delivery_cnt = 0 where {CUSTOMER}"],
        {11},
        (1, {"all_orders": 3000, "new_orders": 900, "with_carrier": 2100, "deliveries": 1}),
    ),
    12: (
        [f"update customer set c_ytd_payment = c_ytd_payment + 1 where {CUSTOMER}"],
        [f"update customer set c_ytd_payment = c_ytd_payment - 1 where {CUSTOMER}"],
        {12},
        (1, {"c_balance": "-10.00", "c_ytd_payment": "11.00", "ol_amount": "0.00"}),
    ),
}


def _of_two_districts(values: Values) -> tuple[Table, ...]:
    """The first rows of each table: two districts, and a hundredth of the items."""
    shares = {"warehouse": 1, "item": 0.01, "stock": 0.01}
    return tuple(
        replace(table, rows=round(table.rows * shares.get(table.name, 0.2)))
        for table in TPCC.tables(values)
    )


SMALL = dataclasses.replace(TPCC, tables=_of_two_districts)


@pytest.fixture(params=KINDS, scope="module")
def small(request: pytest.FixtureRequest) -> Iterator[Database]:
    with database_on(request.getfixturevalue(request.param), "tpcc_small") as database:
        database.prepare(SMALL)
        database.connection.execute("update warehouse set w_ytd = 60000")
        yield database


def test_each_condition_finds_what_breaks_it(small: Database) -> None:
    assert small.broken() == {}
    for number, (plant, mend, expected, (rows, example)) in CORRUPTIONS.items():
        for statement in plant:
            small.connection.execute(statement)
        broken = small.broken()
        assert set(broken) == expected, number
        shown = broken[number].example
        assert broken[number].rows == rows
        assert shown
        assert {name: shown[name] for name in example} == example
        assert f"condition {number}, " in told(broken[number])
        for statement in mend:
            small.connection.execute(statement)
    assert small.broken() == {}


def test_a_district_without_new_orders_breaks_nothing(small: Database) -> None:
    """A part of the second and third condition does not apply where no order waits."""
    small.connection.execute("create table kept as select * from new_order where no_d_id = 2")
    small.connection.execute("delete from new_order where no_d_id = 2")
    broken = small.broken()
    small.connection.execute("insert into new_order select * from kept")
    assert {number: one.rows for number, one in broken.items()} == {5: 900, 11: 1}


def test_what_is_missing_on_one_side_is_seen(small: Database) -> None:
    small.connection.execute("delete from history where h_d_id = 2")
    assert set(small.broken()) == {8, 9, 10}
    small.connection.execute("delete from district where d_id = 2")
    assert set(small.broken()) == {1, 2, 8, 10}


LOAD = ("-c", "6", "-t", "100", "--warmup", "0", "--telemetry", "off", "--seed", "3")


def test_transactions_do_what_they_must(whole: Database) -> None:
    """Six clients on one warehouse meet all the time."""
    code, record = command("run", "tpcc", "--target", whole.server.url, *LOAD)
    assert (code, record["invalid_reasons"], record["failures"]) == (0, [], [])
    assert record["transactions"]["ok"] == 600
    assert 0 < record["transactions"]["rolled_back"] < 12
    done = {script["name"]: script["ok"] for script in record["scripts"]}
    assert set(done) == {"new-order", "payment", "order-status", "delivery", "stock-level"}
    assert {"sum of d_next_o_id", "rows of history", "sum of s_order_cnt"} <= set(
        record["invariants_read"]
    )
    assert [(one["id"], one["ok"], one["rows"]) for one in record["checks"]] == [
        (str(number), True, 0) for number in range(1, 13)
    ]
    audited(record, done)
    # The rolled back orders are not there, and nothing else is missing.
    orders = whole.one("select count(*) from orders") - 30_000
    assert orders == done["new-order"] - record["transactions"]["rolled_back"]
    assert whole.one("select count(*) from history") - 30_000 == done["payment"]
    delivered = whole.one("select sum(c_delivery_cnt) from customer")
    assert delivered == 10 * done["delivery"]
    assert whole.one("select sum(s_remote_cnt) from stock") == 0
    assert whole.one("select count(*) from order_line where ol_i_id > 100000") == 0
    paid = "select count(*) from customer where c_credit = 'BC' and c_payment_cnt > 1"
    noted = "select count(*) from customer where c_data like '% % % % %.% %'"
    assert whole.one(paid) == whole.one(noted) > 0
    told = "select count(*) from history where h_data not like '%    %' and h_amount <> 10"
    assert whole.one(told) == 0
    quantities = "select min(s_quantity), max(s_quantity) from stock where s_order_cnt > 0"
    assert whole.rows(quantities)[0] >= (10, 10)
    amounts = """
        select count(*) from order_line join item on i_id = ol_i_id
        where ol_o_id > 3000 and ol_amount <> ol_quantity * i_price"""
    assert whole.one(amounts) == 0
    assert data_status(TPCC, whole.target, whole.connection, {}).state == "compatible"


def audited(record: dict[str, Any], done: dict[str, int]) -> None:
    """Compare what the record says of the definition's demands with the scripts' counts."""
    nopm = record["nopm"]
    assert nopm["value"] == pytest.approx(60 * done["new-order"] / record["duration_s"])
    audit = {one["name"]: one for one in record["audit"]}
    rolled_back = audit["new orders rolled back"]
    assert rolled_back["value"] == record["transactions"]["rolled_back"] / done["new-order"]
    assert (rolled_back["low"], rolled_back["high"]) == (0.009, 0.011)
    lines = audit["lines of a new order"]
    assert (lines["count"], lines["value"]) == (done["new-order"], pytest.approx(10, abs=0.8))
    by_name = audit["payment by last name"]
    assert (by_name["count"], by_name["value"]) == (done["payment"], pytest.approx(0.6, abs=0.1))
    # Of one warehouse nothing is remote, and 600 transactions are too few to tell.
    assert not [name for name in audit if "remote" in name]
    assert {one["ok"] for one in record["audit"] if one["unit"] != "ms"} == {None}
    limits = {name: one["high"] for name, one in audit.items() if one["unit"] == "ms"}
    assert limits["90th percentile of stock-level"] == 20_000
    assert len(limits) == 5
    assert not [doubt for doubt in record["doubts"] if "not as defined" in doubt]


def test_each_client_deals_its_own_deck(loaded: dict[str, Database]) -> None:
    """Two decks of 23 cards for each of six clients: the mix is exact."""
    url = loaded["postgres_server"].server.url
    short = [*LOAD[:3], "46", *LOAD[4:]]
    code, record = command("run", "tpcc", "--target", url, "-D", "mix=deck", *short)
    assert (code, record["invalid_reasons"], record["failures"]) == (0, [], [])
    done = {script["name"]: script["ok"] for script in record["scripts"]}
    assert done == {
        **{"new-order": 120, "payment": 120},
        **{"order-status": 12, "delivery": 12, "stock-level": 12},
    }


# What is kept of the loaded data, and how all that transactions change becomes again what it was.
KEPT = (
    "create table kept_stock (item int primary key, quantity int)",
    "insert into kept_stock select s_i_id, s_quantity from stock",
    "create table kept_customer (d int, c int, data varchar(500), primary key (d, c))",
    "insert into kept_customer select c_d_id, c_id, c_data from customer where c_credit = 'BC'",
)
UNDONE = (
    "delete from order_line where ol_o_id > 3000",
    "delete from new_order",
    "delete from orders where o_id > 3000",
    "delete from history where h_date > '2026-01-01'",
    """update order_line set ol_delivery_d = null
    where ol_o_id > 2100 and ol_delivery_d is not null""",
    "update orders set o_carrier_id = null where o_id > 2100 and o_carrier_id is not null",
    """insert into new_order (no_o_id, no_d_id, no_w_id)
    select o_id, o_d_id, o_w_id from orders where o_id > 2100""",
    "update warehouse set w_ytd = 300000",
    "update district set d_ytd = 30000, d_next_o_id = 3001",
    """update customer set c_data =
        (select data from kept_customer where d = c_d_id and c = c_id)
    where c_credit = 'BC' and c_payment_cnt > 1""",
    """update customer
    set c_balance = -10, c_ytd_payment = 10, c_payment_cnt = 1, c_delivery_cnt = 0
    where c_payment_cnt > 1 or c_delivery_cnt > 0""",
    """update stock set s_quantity = (select quantity from kept_stock where item = s_i_id),
        s_ytd = 0, s_order_cnt = 0, s_remote_cnt = 0
    where s_order_cnt > 0""",
)
# The rows of large tables that transactions have changed, and some more.
CHANGED = {
    "customer": "c_payment_cnt > 1 or c_delivery_cnt > 0",
    "item": "i_id > 100000",
    "order_line": "ol_o_id > 2100",
    "stock": "s_order_cnt > 0",
}
TABLES = TPCC.tables(TPCC.complete({}))


def execute(database: Database, statements: Iterable[str]) -> None:
    for statement in statements:
        database.connection.execute(statement)


STYLES = ("statements", "pipelined", "procedures")
# MariaDB has no pipelines: there, these are single statements.
RUNS = [
    *(("postgres_server", style) for style in STYLES),
    *(("mariadb_server", style) for style in ("statements", "procedures")),
]


def round_trips(record: dict[str, Any]) -> float:
    (cost,) = (cost for cost in record["costs"] if cost["id"] == "round_trips")
    return float(cost["value"])


def test_all_styles_do_the_same_on_both_servers_with_fewer_round_trips(
    loaded: dict[str, Database],
) -> None:
    """One client, by the same seed, on the same rows."""
    left, trips = [], {}
    for kind, style in RUNS:
        database = loaded[kind]
        execute(database, UNDONE)
        words = ("-D", f"style={style}", "-c", "1", "-t", "400", "--seed", "6")
        words += ("--warmup", "0", "--telemetry", "off")
        code, record = command("run", "tpcc", "--target", database.server.url, *words)
        assert (code, record["invalid_reasons"], record["failures"]) == (0, [], [])
        told = {one["name"]: one["value"] for one in record["audit"] if one["unit"] != "ms"}
        counted = {name: record["transactions"][name] for name in ("committed", "rolled_back")}
        assert counted["rolled_back"] > 0
        changed = row_hashes(database, TABLES, where=CHANGED, with_times=False)
        left.append((told, counted, changed))
        # Each committed transaction costs those of the few that were rolled back, too.
        trips[kind, style] = round_trips(record) * counted["committed"] / 400
    assert all(one == left[0] for one in left)
    assert trips == pytest.approx(
        {
            (kind, style): {"statements": 27.9, "pipelined": 2.2, "procedures": 1}[style]
            for kind, style in RUNS
        },
        abs=0.1,
    )


# How a server keeps the statements that it gets, and where: in its log, or in a table.
LOGGED = {
    "postgres_server": (
        "alter database tpcc_whole set log_statement = 'all'",
        "alter database tpcc_whole reset log_statement",
    ),
    "mariadb_server": (
        "set global general_log = on, global log_output = 'TABLE'",
        "set global general_log = off, global log_output = 'FILE'",
    ),
}
CALL = re.compile(r"dbdyno_(\w+)\((\d.*?)(?:, null, null)?\)$", re.MULTILINE)


def test_the_same_seed_gives_transactions_the_same_parameters_on_both_servers(
    request: pytest.FixtureRequest, loaded: dict[str, Database]
) -> None:
    """Each transaction is one call, whose text has all that the transaction draws."""
    once = ("-c", "4", "-t", "50", "--warmup", "0", "--telemetry", "off", "--seed", "8")
    words = ("-D", "style=procedures", "-D", "order_status_weight=10", "-M", "simple")
    calls = []
    for (kind, database), threads in zip(loaded.items(), ("1", "2"), strict=True):
        begin, end = LOGGED[kind]
        database.connection.execute(begin)
        url = database.server.url
        code, record = command("run", "tpcc", "--target", url, *once, *words, "-j", threads)
        database.connection.execute(end)
        assert (code, record["invalid_reasons"], record["failures"]) == (0, [], [])
        calls.append(sorted(CALL.findall(logged(database, request.getfixturevalue(kind)))))
    assert len(calls[0]) == 200
    assert {name for name, _ in calls[0]} == {
        *("new_order", "payment", "order_status", "delivery", "stock_level")
    }
    assert calls[0] == calls[1]


def logged(database: Database, server: Server) -> str:
    if database.target.name == "mysql":
        found = database.rows("select argument from mysql.general_log")
        return "\n".join(str(statement) for (statement,) in found)
    assert server.log_path
    return server.log_path.read_text(encoding="utf-8")


@pytest.mark.parametrize("style", STYLES[1:])
def test_clients_that_meet_break_nothing_in_any_style(whole: Database, style: str) -> None:
    given = ("-D", f"style={style}")
    code, record = command("run", "tpcc", "--target", whole.server.url, *given, *LOAD)
    assert (code, record["invalid_reasons"], record["failures"]) == (0, [], [])
    assert record["transactions"]["ok"] == 600
    assert len(record["checks"]) == 12
    assert {one["ok"] for one in record["checks"]} == {True}


@pytest.mark.parametrize("style", ["statements", "procedures"])
def test_payments_go_on_when_twelve_digits_are_full(whole: Database, style: str) -> None:
    """As they are after some 4 million payments to a warehouse."""
    nearly_full = {"warehouse": ("w_ytd", 9_999_690_000), "district": ("d_ytd", 9_999_960_000)}
    words = ["-c", "2", "-t", "30", "-D", f"style={style}"]
    for other in ("new_order", "order_status", "delivery", "stock_level"):
        words += ["-D", f"{other}_weight=0"]
    for table, (column, paid) in nearly_full.items():
        whole.connection.execute(f"update {table} set {column} = {column} + {paid}")
    _, record = command("run", "tpcc", "--target", whole.server.url, *words, *LOAD[4:])
    reached = []
    for table, (column, paid) in nearly_full.items():
        reached.append(whole.one(f"select max({column}) from {table}"))
        whole.connection.execute(f"update {table} set {column} = {column} - {paid}")
    assert (record["transactions"]["ok"], record["failures"]) == (60, [])
    assert min(reached) > 10**10
    assert whole.broken() == {}


def test_procedures_are_refused_where_none_are_written() -> None:
    with pytest.raises(DbdynoError, match="written for PostgreSQL, MariaDB and MySQL"):
        TPCC.routines(TPCC.complete({"style": "procedures"}), "oracle")
    assert TPCC.routines(TPCC.complete({}), "oracle") == ()


def test_a_broken_condition_is_told_to_programs(
    loaded: dict[str, Database], tmp_path: Path
) -> None:
    database = loaded["postgres_server"]
    code, answer = command("check", "tpcc", "--target", database.server.url)
    assert (code, answer["broken"], len(answer["checks"])) == (0, [], 12)
    junit = tmp_path / "check.xml"
    assert {(one["ok"], one["rows"], one["example"]) for one in answer["checks"]} == {
        (True, 0, None)
    }
    database.connection.execute("update district set d_ytd = d_ytd + 1 where d_id = 4")
    target = ("--target", database.server.url)
    code, answer = command("check", "tpcc", *target, "--junit", str(junit))
    (suite,) = JUnitXml.fromfile(str(junit))
    assert (suite.tests, suite.failures) == (13, 2)
    assert [case.name.partition(":")[0] for case in suite if case.result] == [
        "condition 1",
        "condition 9",
    ]
    _, record = command("run", "tpcc", "--target", database.server.url, *LOAD[:3], "2", *LOAD[4:])
    database.connection.execute("update district set d_ytd = d_ytd - 1 where d_id = 4")
    assert [one["id"] for one in record["checks"] if not one["ok"]] == ["1", "9"]
    assert record["valid"] is False
    assert [reason.partition(",")[0] for reason in record["invalid_reasons"]] == [
        "invariant violated: condition 1",
        "invariant violated: condition 9",
    ]
    assert code == 4
    first = answer["checks"][0]
    assert {name: first[name] for name in ("id", "ok", "rows")} == {
        "id": "1",
        "ok": False,
        "rows": 1,
    }
    assert set(first["example"]) == {"w_id", "w_ytd", "d_ytd"}
    assert [one["id"] for one in answer["checks"] if not one["ok"]] == ["1", "9"]
