"""The nine tables and their population, as TPC-C's definition has them (clauses 1.3 and 4.3).

Everything that the definition leaves to chance is drawn from the seed. Only the time of loading is
not the clock's but always the same: so the same seed loads the same rows everywhere.
"""

import datetime
from string import ascii_letters

from msgspec.structs import replace

from dbdyno.databases.schema import Column, ForeignKey, Index, Table
from dbdyno.model.generators import (
    NULL,
    Block,
    Choice,
    Constant,
    Cycle,
    Generator,
    LastName,
    NonUniform,
    Number,
    OneOf,
    Permutation,
    Random,
    Sequence,
    Shared,
    Split,
    Template,
    Text,
    days,
)
from dbdyno.workloads.parameters import (
    FILLFACTOR,
    FOREIGN_KEYS,
    PARTITION_METHOD,
    UNLOGGED,
    Drawn,
    Parameter,
    Values,
    partitioning,
)

DISTRICTS = 10  # of a warehouse
CUSTOMERS = 3000  # of a district; at first each has one order
DELIVERED = 2100  # of a district's first orders
ITEMS = 100_000
NAMED = 1000  # of a district's customers, whose last names are those of the numbers from 0 on
LAST_NAME_A = 255
# The definition asks for at least 12 digits, with which a warehouse would be full after 4 million
# payments, which is a matter of hours.
YTD = "decimal(16,2)"

PARAMETERS = (
    Parameter(
        name="scale",
        kind="int",
        default=1,
        least=1,
        most=20_000,
        description="number of warehouses: 500 000 rows each, and 100 000 items for all",
    ),
    FILLFACTOR,
    UNLOGGED,
    Parameter(
        name="partitions",
        kind="int",
        default=0,
        least=0,
        most=10_000,
        description="number of partitions, by warehouse, of each table with many rows of one; "
        "0 for none",
    ),
    PARTITION_METHOD,
    FOREIGN_KEYS,
)
C_LOAD = Drawn(name="c_load", low=0, high=LAST_NAME_A)
"""The constant of the last names' NURand in the loaded data: that of a run must differ from it."""

_MICROSECONDS_A_DAY = 86_400_000_000
LOADED_AT = Number(days(datetime.date(2026, 1, 1)) * _MICROSECONDS_A_DAY)
LINES = Shared("lines", Random(5, 15))

_ITEM_DATA = OneOf((Choice(9, Text(26, 50)), Choice(1, Text(26, 50, containing="ORIGINAL"))))
_IN_DISTRICT = CUSTOMERS * DISTRICTS


def _key(name: str, generator: Generator) -> Column:
    return Column(name, "int", generator, not_null=True)


def _lettered(name: str, sql_type: str, generator: Generator) -> Column:
    """Return a column of a text that is ordered, or by whose letters analysts choose rows.

    Elsewhere a small letter may be the same as its capital, so that there are twice as many rows.
    """
    return Column(name, sql_type, generator, not_null=True, is_sorted_by_bytes=True)


def _address(prefix: str) -> tuple[Column, ...]:
    return (
        Column(f"{prefix}_street_1", "varchar(20)", Text(10, 20), not_null=True),
        Column(f"{prefix}_street_2", "varchar(20)", Text(10, 20), not_null=True),
        Column(f"{prefix}_city", "varchar(20)", Text(10, 20), not_null=True),
        _lettered(f"{prefix}_state", "char(2)", Text(2, 2, ascii_letters)),
        Column(f"{prefix}_zip", "char(9)", Template("####11111"), not_null=True),
    )


def warehouse(values: Values) -> Table:
    """Each payment of its customers changes its row."""
    return Table(
        name="warehouse",
        columns=(
            _key("w_id", Sequence()),
            Column("w_name", "varchar(10)", Text(6, 10), not_null=True),
            *_address("w"),
            Column("w_tax", "decimal(4,4)", Random(0, 2000), not_null=True),
            Column("w_ytd", YTD, Number(300_000_00), not_null=True),
        ),
        rows=_warehouses(values),
        primary_key=("w_id",),
    )


def district(values: Values) -> Table:
    """Ten for each warehouse; each order takes its number from its district."""
    return Table(
        name="district",
        columns=(
            _key("d_id", Cycle(DISTRICTS)),
            _key("d_w_id", Block(DISTRICTS)),
            Column("d_name", "varchar(10)", Text(6, 10), not_null=True),
            *_address("d"),
            Column("d_tax", "decimal(4,4)", Random(0, 2000), not_null=True),
            Column("d_ytd", YTD, Number(30_000_00), not_null=True),
            Column("d_next_o_id", "int", Number(CUSTOMERS + 1), not_null=True),
        ),
        rows=DISTRICTS * _warehouses(values),
        primary_key=("d_w_id", "d_id"),
        foreign_keys=_foreign_keys(values, ForeignKey(("d_w_id",), "warehouse", ("w_id",))),
    )


def customer(values: Values) -> Table:
    """3000 for each district; the first thousand have all last names."""
    drawn = NonUniform(LAST_NAME_A, int(values["c_load"]), 0, 999)
    number = Split(CUSTOMERS, NAMED, Cycle(CUSTOMERS, start=0), drawn)
    credit = OneOf((Choice(9, Constant("GC")), Choice(1, Constant("BC"))))
    return Table(
        name="customer",
        columns=(
            _key("c_id", Cycle(CUSTOMERS)),
            _key("c_d_id", Cycle(DISTRICTS, each=CUSTOMERS)),
            _key("c_w_id", Block(_IN_DISTRICT)),
            # Of those with the same last name the one in the middle is chosen, by this order.
            _lettered("c_first", "varchar(16)", Text(8, 16)),
            Column("c_middle", "char(2)", Constant("OE"), not_null=True),
            Column("c_last", "varchar(16)", LastName(number), not_null=True),
            *_address("c"),
            Column("c_phone", "char(16)", Template("#" * 16), not_null=True),
            Column("c_since", "timestamp", LOADED_AT, not_null=True),
            Column("c_credit", "char(2)", credit, not_null=True),
            Column("c_credit_lim", "decimal(12,2)", Number(50_000_00), not_null=True),
            Column("c_discount", "decimal(4,4)", Random(0, 5000), not_null=True),
            Column("c_balance", "decimal(12,2)", Number(-10_00), not_null=True),
            Column("c_ytd_payment", "decimal(12,2)", Number(10_00), not_null=True),
            Column("c_payment_cnt", "int", Number(1), not_null=True),
            Column("c_delivery_cnt", "int", Number(0), not_null=True),
            Column("c_data", "varchar(500)", Text(300, 500), not_null=True),
        ),
        rows=_IN_DISTRICT * _warehouses(values),
        primary_key=("c_w_id", "c_d_id", "c_id"),
        indexes=(Index("customer_name", ("c_w_id", "c_d_id", "c_last", "c_first")),),
        foreign_keys=_foreign_keys(
            values, ForeignKey(("c_w_id", "c_d_id"), "district", ("d_w_id", "d_id"))
        ),
    )


def history(values: Values) -> Table:
    """A row for each payment, without a key: so far one of each customer."""
    return Table(
        name="history",
        columns=(
            _key("h_c_id", Cycle(CUSTOMERS)),
            _key("h_c_d_id", Cycle(DISTRICTS, each=CUSTOMERS)),
            _key("h_c_w_id", Block(_IN_DISTRICT)),
            _key("h_d_id", Cycle(DISTRICTS, each=CUSTOMERS)),
            _key("h_w_id", Block(_IN_DISTRICT)),
            Column("h_date", "timestamp", LOADED_AT, not_null=True),
            Column("h_amount", "decimal(6,2)", Number(10_00), not_null=True),
            Column("h_data", "varchar(24)", Text(12, 24), not_null=True),
        ),
        rows=_IN_DISTRICT * _warehouses(values),
        foreign_keys=_foreign_keys(
            values,
            ForeignKey(
                ("h_c_w_id", "h_c_d_id", "h_c_id"), "customer", ("c_w_id", "c_d_id", "c_id")
            ),
            ForeignKey(("h_w_id", "h_d_id"), "district", ("d_w_id", "d_id")),
        ),
    )


def item(_values: Values) -> Table:
    """What is sold, the same everywhere, and never changed."""
    return Table(
        name="item",
        columns=(
            _key("i_id", Sequence()),
            _key("i_im_id", Random(1, 10_000)),
            _lettered("i_name", "varchar(24)", Text(14, 24)),
            Column("i_price", "decimal(5,2)", Random(1_00, 100_00), not_null=True),
            _lettered("i_data", "varchar(50)", _ITEM_DATA),
        ),
        rows=ITEMS,
        primary_key=("i_id",),
    )


def stock(values: Values) -> Table:
    """Of each item in each warehouse."""
    return Table(
        name="stock",
        columns=(
            _key("s_i_id", Cycle(ITEMS)),
            _key("s_w_id", Block(ITEMS)),
            Column("s_quantity", "int", Random(10, 100), not_null=True),
            *(
                Column(f"s_dist_{district:02}", "char(24)", Text(24, 24), not_null=True)
                for district in range(1, DISTRICTS + 1)
            ),
            Column("s_ytd", "int", Number(0), not_null=True),
            Column("s_order_cnt", "int", Number(0), not_null=True),
            Column("s_remote_cnt", "int", Number(0), not_null=True),
            Column("s_data", "varchar(50)", _ITEM_DATA, not_null=True),
        ),
        rows=ITEMS * _warehouses(values),
        primary_key=("s_w_id", "s_i_id"),
        foreign_keys=_foreign_keys(
            values,
            ForeignKey(("s_w_id",), "warehouse", ("w_id",)),
            ForeignKey(("s_i_id",), "item", ("i_id",)),
        ),
    )


def orders(values: Values) -> Table:
    """One of each customer, in random order."""
    return Table(
        name="orders",
        columns=(
            _key("o_id", Cycle(CUSTOMERS)),
            _key("o_d_id", Cycle(DISTRICTS, each=CUSTOMERS)),
            _key("o_w_id", Block(_IN_DISTRICT)),
            _key("o_c_id", Permutation(CUSTOMERS)),
            Column("o_entry_d", "timestamp", LOADED_AT, not_null=True),
            Column("o_carrier_id", "int", Split(CUSTOMERS, DELIVERED, Random(1, 10), NULL)),
            Column("o_ol_cnt", "int", LINES, not_null=True),
            Column("o_all_local", "int", Number(1), not_null=True),
        ),
        rows=_IN_DISTRICT * _warehouses(values),
        primary_key=("o_w_id", "o_d_id", "o_id"),
        indexes=(Index("orders_customer", ("o_w_id", "o_d_id", "o_c_id", "o_id"), unique=True),),
        foreign_keys=_foreign_keys(
            values,
            ForeignKey(("o_w_id", "o_d_id", "o_c_id"), "customer", ("c_w_id", "c_d_id", "c_id")),
        ),
    )


def new_order(values: Values) -> Table:
    """The orders that wait for delivery, the oldest first."""
    waiting = CUSTOMERS - DELIVERED
    return Table(
        name="new_order",
        columns=(
            _key("no_o_id", Cycle(waiting, start=DELIVERED + 1)),
            _key("no_d_id", Cycle(DISTRICTS, each=waiting)),
            _key("no_w_id", Block(waiting * DISTRICTS)),
        ),
        rows=waiting * DISTRICTS * _warehouses(values),
        primary_key=("no_w_id", "no_d_id", "no_o_id"),
        foreign_keys=_foreign_keys(
            values,
            ForeignKey(("no_w_id", "no_d_id", "no_o_id"), "orders", ("o_w_id", "o_d_id", "o_id")),
        ),
        is_queue=True,
    )


def order_line(values: Values) -> Table:
    """As many for each order as it says; those that are delivered have cost nothing."""
    amount = Split(CUSTOMERS, DELIVERED, Number(0), Random(1, 9999_99))
    return Table(
        name="order_line",
        columns=(
            _key("ol_o_id", Cycle(CUSTOMERS)),
            _key("ol_d_id", Cycle(DISTRICTS, each=CUSTOMERS)),
            _key("ol_w_id", Block(_IN_DISTRICT)),
            _key("ol_number", Sequence(level=1)),
            _key("ol_i_id", Random(1, ITEMS)),
            _key("ol_supply_w_id", Block(_IN_DISTRICT)),
            Column("ol_delivery_d", "timestamp", Split(CUSTOMERS, DELIVERED, LOADED_AT, NULL)),
            Column("ol_quantity", "int", Number(5), not_null=True),
            Column("ol_amount", "decimal(6,2)", amount, not_null=True),
            Column("ol_dist_info", "char(24)", Text(24, 24), not_null=True),
        ),
        rows=_IN_DISTRICT * _warehouses(values),
        per=(LINES,),
        primary_key=("ol_w_id", "ol_d_id", "ol_o_id", "ol_number"),
        foreign_keys=_foreign_keys(
            values,
            ForeignKey(("ol_w_id", "ol_d_id", "ol_o_id"), "orders", ("o_w_id", "o_d_id", "o_id")),
            ForeignKey(("ol_supply_w_id", "ol_i_id"), "stock", ("s_w_id", "s_i_id")),
        ),
    )


_TABLES = (
    *(warehouse, district, customer, history, item),
    *(stock, orders, new_order, order_line),
)


_NEVER_UPDATED = ("history", "item", "new_order")
_WAREHOUSE_OF = {
    **{"customer": "c_w_id", "history": "h_w_id", "stock": "s_w_id"},
    **{"orders": "o_w_id", "new_order": "no_w_id", "order_line": "ol_w_id"},
}
"""The column that divides a table; of a warehouse and its districts all rows are in few pages."""


def tables(values: Values) -> tuple[Table, ...]:
    """Return the nine tables, in an order in which keys can be added."""
    return tuple(_stored(table(values), values) for table in _TABLES)


def _stored(table: Table, values: Values) -> Table:
    column = _WAREHOUSE_OF.get(table.name)
    return replace(
        table,
        fillfactor=None if table.name in _NEVER_UPDATED else int(values["fillfactor"]),
        unlogged=bool(values["unlogged"]),
        partitioning=partitioning(values, column) if column else None,
    )


def _warehouses(values: Values) -> int:
    return int(values["scale"])


def _foreign_keys(values: Values, *keys: ForeignKey) -> tuple[ForeignKey, ...]:
    return keys if values["foreign_keys"] else ()
