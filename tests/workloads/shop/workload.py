"""A miniature order schema: every type, every kind of key, every law, children with their counts.

Its tables are built as those of TPC-C, YCSB and TATP are: keys of several columns, a permutation,
last names, orders with as many lines as they say, rows of which only some exist.
"""

import datetime
from pathlib import Path

from msgspec.structs import replace

from dbdyno.databases.schema import Column, ForeignKey, Index, Table
from dbdyno.model.generators import (
    NULL,
    Block,
    Choice,
    Cycle,
    Field,
    Hash,
    Joined,
    Json,
    LastName,
    NonUniform,
    Number,
    Numbered,
    OneOf,
    Permutation,
    Random,
    Sequence,
    Shared,
    Split,
    Sum,
    Template,
    Text,
    Zipf,
    days,
)
from dbdyno.model.plan import Scalar, Script
from dbdyno.workloads.base import Workload, script_file
from dbdyno.workloads.invariants import OnePerTransaction, SameChange, Unchanged
from dbdyno.workloads.parameters import SCALE, Values

FOLDER = Path(__file__).parent
CUSTOMERS = 300  # of each shop
NAMED = 100  # of them, whose names are those of the numbers from 0 on
ITEMS = 1000
FIRST_DAY, LAST_DAY = datetime.date(1995, 1, 1), datetime.date(2024, 12, 31)
NOON = 86_400_000_000 // 2

LINES = Shared("lines", Random(5, 15))
KINDS = Shared("kinds", Permutation(4, level=1), level=1)
STARTS = Shared("starts", Permutation(3, start=0, step=8, level=2), level=2)


def tables(values: Values) -> tuple[Table, ...]:
    shops = int(values["scale"])
    return (
        Table(
            name="shop_item",
            columns=(
                Column("i_id", "bigserial", Sequence(), not_null=True),
                Column("i_key", "varchar(24)", Joined((Numbered("u", 0), Hash(Sequence(0)))), True),
                Column("i_price", "decimal(5,2)", Random(100, 10_000), not_null=True),
                Column(
                    "i_data",
                    "varchar(50)",
                    OneOf(
                        (Choice(9, Text(26, 50)), Choice(1, Text(26, 50, containing="ORIGINAL")))
                    ),
                ),
                Column(
                    "i_document",
                    "json",
                    Json(
                        (
                            Field("id", Sequence()),
                            Field("say", Text(5, 5, '"\\é'[:2])),
                            Field("no", NULL),
                        )
                    ),
                ),
                Column("i_weight", "decimal(18,6)", Random(-(10**17), 10**17)),
                Column("i_rank", "int", Zipf(1, 50, 0.99)),
            ),
            rows=ITEMS,
            primary_key=("i_id",),
            indexes=(Index("shop_item_key", ("i_key",), unique=True),),
        ),
        Table(
            name="shop_customer",
            columns=(
                Column("c_w_id", "int", Block(CUSTOMERS), not_null=True),
                Column("c_id", "int", Cycle(CUSTOMERS), not_null=True),
                Column(
                    "c_last",
                    "varchar(16)",
                    LastName(
                        Split(
                            CUSTOMERS,
                            NAMED,
                            Cycle(CUSTOMERS, start=0),
                            NonUniform(255, 123, 0, 999),
                        )
                    ),
                ),
                Column("c_middle", "char(2)", Text(2, 2, "OE"), not_null=True),
                Column("c_balance", "decimal(12,2)", Number(-1000), not_null=True),
                Column("c_since", "timestamp", Number(NOON)),
                Column("c_born", "date", Random(days(FIRST_DAY), days(LAST_DAY))),
                Column("c_good", "boolean", Random(0, 1)),
                Column("c_points", "bigint", Random(-(2**62), 2**62)),
                Column("c_zip", "char(9)", Template("####11111")),
            ),
            rows=CUSTOMERS * shops,
            primary_key=("c_w_id", "c_id"),
            indexes=(Index("shop_customer_name", ("c_w_id", "c_last", "c_id")),),
        ),
        Table(
            name="shop_order",
            columns=(
                Column("o_w_id", "int", Block(CUSTOMERS), not_null=True),
                Column("o_id", "int", Cycle(CUSTOMERS), not_null=True),
                Column("o_c_id", "int", Permutation(CUSTOMERS), not_null=True),
                Column("o_ol_cnt", "int", LINES, not_null=True),
                Column("o_carrier", "int", Split(CUSTOMERS, 200, Random(1, 10), NULL)),
            ),
            rows=CUSTOMERS * shops,
            primary_key=("o_w_id", "o_id"),
            indexes=(Index("shop_order_customer", ("o_w_id", "o_c_id", "o_id"), unique=True),),
            foreign_keys=(ForeignKey(("o_w_id", "o_c_id"), "shop_customer", ("c_w_id", "c_id")),),
        ),
        Table(
            name="shop_line",
            columns=(
                Column("l_w_id", "int", Block(CUSTOMERS), not_null=True),
                Column("l_o_id", "int", Cycle(CUSTOMERS), not_null=True),
                Column("l_number", "int", Sequence(level=1), not_null=True),
                Column("l_i_id", "bigint", NonUniform(255, 7, 1, ITEMS), not_null=True),
                Column("l_info", "char(24)", Text(24, 24)),
                Column("l_long", "text", Text(0, 600)),
            ),
            rows=CUSTOMERS * shops,
            per=(LINES,),
            primary_key=("l_w_id", "l_o_id", "l_number"),
            foreign_keys=(
                ForeignKey(("l_w_id", "l_o_id"), "shop_order", ("o_w_id", "o_id")),
                ForeignKey(("l_i_id",), "shop_item", ("i_id",)),
            ),
        ),
        Table(
            name="shop_call",
            columns=(
                Column("f_id", "int", Sequence(), not_null=True),
                Column("f_kind", "int", KINDS, not_null=True),
                Column("f_start", "int", STARTS, not_null=True),
                Column("f_end", "int", Sum((STARTS, Random(1, 8)))),
            ),
            rows=CUSTOMERS * shops,
            per=(Shared("facilities", Random(1, 4)), Random(0, 3)),
            primary_key=("f_id", "f_kind", "f_start"),
        ),
    )


def _scripts(_values: Values, sql_dialect: str) -> list[Script]:
    order, payment = (script_file(FOLDER, name, sql_dialect) for name in ("order", "payment"))
    return [order, replace(payment, weight=3)]


def _variables(values: Values, _clients: int, _seed: int) -> dict[str, Scalar]:
    return {"scale": values["scale"], "customers": CUSTOMERS, "items": ITEMS}


SHOP = Workload(
    name="shop",
    summary="orders with lines",
    parameters=(SCALE,),
    data="shop",
    tables=tables,
    scripts=_scripts,
    variables=_variables,
    measures=lambda _values: {
        "rows of shop_item": "select count(*) from shop_item",
        "rows of shop_order": "select count(*) from shop_order",
        "lines announced": "select sum(o_ol_cnt) from shop_order",
        "lines": "select count(*) from shop_line",
        "halves paid": "select sum(2 * c_balance) from shop_customer",
    },
    laws=lambda _values: (
        Unchanged(("rows of shop_item",)),
        SameChange(("lines announced", "lines")),
        OnePerTransaction("rows of shop_order", "order"),
        OnePerTransaction("halves paid", "payment"),
    ),
    balances=(),
)
NAMES = ("shop_item", "shop_customer", "shop_order", "shop_line", "shop_call")
