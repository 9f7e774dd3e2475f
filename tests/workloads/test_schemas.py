"""Types, keys and laws of a declared schema, as real servers have them after loading."""

import collections
import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from typing import Any

import pytest
from scipy.stats import chisquare

from dbdyno import engine
from dbdyno.databases.adapters import adapter_of, native_adapter
from dbdyno.errors import DbdynoError
from dbdyno.model.generators import LETTERS
from dbdyno.servers.base import Server
from dbdyno.servers.existing import use_existing
from dbdyno.workloads.preparing import LoadOptions, Place, Prepared, prepare_data
from dbdyno.workloads.size import estimated_bytes
from tests.workloads.shop.workload import (
    CUSTOMERS,
    FIRST_DAY,
    ITEMS,
    LAST_DAY,
    NAMED,
    NAMES,
    SHOP,
    tables,
)

SYLLABLES = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"]
SHOPS = 4


def last_name(number: int) -> str:
    return "".join(SYLLABLES[int(digit)] for digit in f"{number:03}")


class Shop:
    """A database with the shop's data, reached by one road."""

    def __init__(self, server: Server, way: str) -> None:
        self.server = server
        self.product = "postgresql" if "postgres" in way else "mariadb"
        self.road = use_existing(_odbc(server)) if "odbc" in way else server
        self.control = self.road.connect()
        self.target = adapter_of(self.road.database(self.control), self.road.endpoint().protocol)
        self.plain = server.connect()

    def prepare(
        self, *, seed: int = 1, jobs: int = 2, replace: bool = False, **given: int
    ) -> Prepared:
        return prepare_data(
            SHOP,
            given or {"scale": SHOPS},
            Place(self.target, self.control, self.road.endpoint()),
            bulk=engine.load,
            options=LoadOptions(seed=seed, jobs=jobs, replace=replace),
            watch=lambda _progress: None,
        )

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.plain.execute(query).fetchall()]

    def everything(self) -> list[list[tuple[Any, ...]]]:
        return [self.rows(f"select * from {name} order by 1, 2, 3") for name in NAMES]


def _odbc(server: Server) -> str:
    endpoint = server.endpoint()
    assert endpoint.address.unix
    path, user = endpoint.address.unix.path, endpoint.user
    if endpoint.protocol == "postgresql":
        folder, _, name = path.rpartition("/")
        driver = f"Driver={{PostgreSQL Unicode}};Servername={folder};Port={name.rpartition('.')[2]}"
    else:
        driver = f"Driver={{MariaDB Unicode}};Socket={path}"
        # Its driver does not have the login of a private server.
        with closing(server.connect()) as control:
            control.execute("create or replace user odbc@localhost")
            control.execute("grant all on *.* to odbc@localhost")
        user = "odbc"
    return f"odbc:{driver};Database={endpoint.database};UID={user}"


WAYS = ("postgres_server", "mariadb_server", "postgres_server odbc", "mariadb_server odbc")


@pytest.fixture(params=WAYS)
def shop(
    request: pytest.FixtureRequest, new_database: Callable[[Server], Server]
) -> Iterator[Shop]:
    name = request.param.split()[0]
    made = Shop(new_database(request.getfixturevalue(name)), request.param)
    with closing(made.control), closing(made.plain):
        yield made


def test_every_type_arrives(shop: Shop) -> None:
    shop.prepare()
    items = shop.rows("select * from shop_item order by i_id")
    assert [row[0] for row in items] == list(range(1, ITEMS + 1))
    assert all(row[1].startswith(f"u{row[0] - 1}") for row in items)
    # The hash of 0 as the original of YCSB computes it, without its sign.
    assert items[0][1] == "u0" + str(abs(_fnv(0)))
    assert {type(row[2]) for row in items} == {Decimal}
    assert all(Decimal("1.00") <= row[2] <= Decimal(100) for row in items)
    documents = [row[4] if isinstance(row[4], dict) else json.loads(row[4]) for row in items]
    assert [document["id"] for document in documents] == [row[0] for row in items]
    assert {len(document["say"]) for document in documents} == {5}
    assert set("".join(document["say"] for document in documents)) == {'"', "\\"}
    assert {document["no"] for document in documents} == {None}
    assert all(abs(row[5]) <= 10**11 and row[5].as_tuple().exponent == -6 for row in items)
    assert any(row[5] < 0 for row in items)

    customers = shop.rows("select * from shop_customer order by c_w_id, c_id")
    assert [row[:2] for row in customers] == list(
        itertools.product(range(1, SHOPS + 1), range(1, CUSTOMERS + 1))
    )
    assert {row[4] for row in customers} == {Decimal("-10.00")}
    assert {row[5].isoformat() for row in customers} == {"2000-01-01T12:00:00"}
    assert all(FIRST_DAY <= row[6] <= LAST_DAY for row in customers)
    assert len({row[6] for row in customers}) > len(customers) / 2
    assert {bool(row[7]) for row in customers} == {False, True}
    assert len({row[8] for row in customers}) == len(customers)
    assert all(len(row[9]) == 9 and row[9].endswith("11111") for row in customers)


def _fnv(number: int) -> int:
    value = 0xCBF29CE484222325
    for octet in number.to_bytes(8, "little"):
        value = (value ^ octet) * 0x100000001B3 % 2**64
    return value - 2**64 if value >= 2**63 else value


def test_keys_are_those_that_were_declared(shop: Shop) -> None:
    shop.prepare()
    found = native_adapter(shop.server.endpoint().protocol).find_tables(shop.plain, NAMES)
    for table in tables({"scale": SHOPS}):
        there = found[table.name]
        assert there.primary_key == table.primary_key
        assert there.unique_keys == table.unique_keys()
        assert there.foreign_keys == set(table.foreign_keys)
    by_this_road = shop.target.find_tables(shop.control, NAMES)
    assert {name: there.unique_keys for name, there in by_this_road.items()} == {
        name: there.unique_keys for name, there in found.items()
    }
    query = {
        "postgresql": """
            select string_agg(attname, ',' order by attnum) from pg_attribute
            where attrelid = 'shop_customer_name'::regclass""",
        "mariadb": """
            select group_concat(column_name order by seq_in_index)
            from information_schema.statistics
            where table_schema = database() and index_name = 'shop_customer_name'""",
    }
    assert shop.rows(query[shop.product]) == [("c_w_id,c_last,c_id",)]
    insert = "insert into shop_item (i_key, i_price) values ('new', 1) "
    shop.plain.execute(insert)
    assert shop.rows("select max(i_id) from shop_item") == [(ITEMS + 1,)]


def test_children_are_as_many_as_their_parents_say(shop: Shop) -> None:
    report = shop.prepare().report
    assert report
    counts = dict(shop.rows("select o_w_id * 1000 + o_id, o_ol_cnt from shop_order"))
    numbers = collections.defaultdict(list)
    for order, number in shop.rows("select l_w_id * 1000 + l_o_id, l_number from shop_line"):
        numbers[order].append(number)
    assert {order: sorted(found) for order, found in numbers.items()} == {
        order: list(range(1, count + 1)) for order, count in counts.items()
    }
    assert set(counts.values()) == set(range(5, 16))
    assert is_likely(collections.Counter(counts.values()), dict.fromkeys(range(5, 16), 1))
    ((lines,),) = shop.rows("select count(*) from shop_line")
    ((calls,),) = shop.rows("select count(*) from shop_call")
    assert report.rows == ITEMS + 2 * CUSTOMERS * SHOPS + lines + calls

    calls_of = shop.rows("select f_id, f_kind, f_start, f_end from shop_call")
    assert all(kind in (1, 2, 3, 4) and start in (0, 8, 16) for _, kind, start, _ in calls_of)
    assert all(1 <= end - start <= 8 for _, _, start, end in calls_of)
    # On average 2.5 facilities of a customer, with 1.5 calls each.
    assert calls == pytest.approx(2.5 * 1.5 * CUSTOMERS * SHOPS, rel=0.1)
    # Which facilities of four a customer has is random, too.
    first = collections.Counter(kind for _, kind, _, _ in calls_of)
    assert is_likely(first, dict.fromkeys(range(1, 5), 1), least=1e-9)


def test_values_follow_their_laws(shop: Shop) -> None:
    shop.prepare()
    names = shop.rows("select c_id, c_last from shop_customer where c_w_id = 1 order by c_id")
    assert [name for _, name in names[:NAMED]] == [last_name(number) for number in range(NAMED)]
    known = {last_name(number): number for number in range(1000)}
    # A third of the numbers is drawn by NURand(255): its bits are set three times in four.
    drawn = [
        known[name]
        for (name,) in shop.rows(f"select c_last from shop_customer where c_id > {NAMED}")
    ]
    bits = [(number - 123) % 1000 & 1 for number in drawn]
    assert is_likely(collections.Counter(bits), {0: 1, 1: 3})

    for shop_id in range(1, SHOPS + 1):
        order = [
            c
            for (c,) in shop.rows(
                f"select o_c_id from shop_order where o_w_id = {shop_id} order by o_id"
            )
        ]
        assert sorted(order) == list(range(1, CUSTOMERS + 1))
        assert sum(a < b for a, b in itertools.pairwise(order)) < CUSTOMERS * 0.65
    orders = shop.rows("select o_id, o_carrier from shop_order")
    assert all((carrier is None) == (number > 200) for number, carrier in orders)
    assert {carrier for _, carrier in orders} == {None, *range(1, 11)}

    ranks = collections.Counter(rank for (rank,) in shop.rows("select i_rank from shop_item"))
    assert is_likely(ranks, {rank: rank**-0.99 for rank in range(1, 51)})
    texts = [text for (text,) in shop.rows("select i_data from shop_item")]
    assert {len(text) for text in texts} == set(range(26, 51))
    original = sum("ORIGINAL" in text for text in texts)
    assert 60 <= original <= 140
    assert len({text.find("ORIGINAL") for text in texts}) > 15
    assert set("".join(texts)) == set(LETTERS)
    lengths = [length for (length,) in shop.rows("select length(l_long) from shop_line")]
    assert (min(lengths) < 5, max(lengths) > 595) == (True, True)
    assert {length for (length,) in shop.rows("select length(l_info) from shop_line")} == {24}


def is_likely(
    counts: collections.Counter[int], weights: dict[int, float], least: float = 1e-5
) -> bool:
    """Chi-square by hand: whether such counts come up at least this often by these weights."""
    total, drawn = sum(weights.values()), sum(counts.values())
    observed = [counts[value] for value in weights]
    expected = [drawn * weight / total for weight in weights.values()]
    assert set(counts) <= set(weights)
    return bool(chisquare(observed, expected).pvalue > least)


def test_the_seed_alone_decides(shop: Shop) -> None:
    shop.prepare(jobs=1)
    first = shop.everything()
    shop.prepare(jobs=3, replace=True)
    assert shop.everything() == first
    shop.prepare(seed=2, replace=True)
    other = shop.everything()
    assert all(one != two for one, two in zip(first, other, strict=True))


def test_existing_data_is_recognized_or_refused(shop: Shop) -> None:
    shop.prepare()
    again = shop.prepare()
    assert (again.report, again.made_by, again.values["scale"]) == (None, "dbdyno", SHOPS)
    with pytest.raises(DbdynoError, match="its scale is 4, and 2 was requested"):
        shop.prepare(scale=2)
    shop.plain.execute("delete from shop_call")
    shop.plain.execute("delete from shop_line where l_w_id in (1, 2, 3)")
    with pytest.raises(DbdynoError, match=r"shop_line has \d+ of 1000 rows looked up"):
        shop.prepare()
    drop = {
        "postgresql": "alter table shop_item drop constraint shop_item_key",
        "mariadb": "alter table shop_item drop index shop_item_key",
    }
    shop.plain.execute(drop[shop.product])
    with pytest.raises(DbdynoError, match=r"shop_item lacks the unique key \(i_key\)"):
        shop.prepare()


@pytest.mark.parametrize("kind", ["postgres_server", "mariadb_server"])
def test_sizes_are_as_estimated(
    kind: str, request: pytest.FixtureRequest, new_database: Callable[[Server], Server]
) -> None:
    shop = Shop(new_database(request.getfixturevalue(kind)), kind)
    with closing(shop.control), closing(shop.plain):
        shop.prepare(scale=40)
        query = {
            "postgresql": "select pg_total_relation_size('{}')",
            "mariadb": "select data_length + index_length from information_schema.tables "
            "where table_schema = database() and table_name = '{}'",
        }[shop.product]
        declared = tables({"scale": 40})
        real = {table.name: int(shop.rows(query.format(table.name))[0][0]) for table in declared}
        guessed = {table.name: estimated_bytes([table]) for table in declared}
    assert sum(guessed.values()) == pytest.approx(sum(real.values()), rel=0.2), (guessed, real)
