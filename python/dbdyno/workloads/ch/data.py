"""The three tables that CH-benCHmark adds to those of order entry.

Nothing refers to them by a key of its own: the supplier of a stock row follows from its warehouse
and item, and the nation of a customer from the first character of the state.
"""

from collections.abc import Iterable, Sequence

from dbdyno.databases.schema import Column, Table
from dbdyno.model import generators
from dbdyno.model.generators import (
    Choice,
    Constant,
    Generator,
    Number,
    Numbered,
    OneOf,
    Random,
    Split,
    Template,
    Text,
)
from dbdyno.workloads.parameters import Values

SUPPLIERS = 10_000
REGIONS = ("Africa", "America", "Asia", "Australia", "Europe")
# By region, which begins with 0.
NATIONS = {
    **dict.fromkeys(("Algeria", "Egypt", "Ethiopia", "Ghana", "Kenya", "Morocco"), 0),
    **dict.fromkeys(("Mozambique", "Nigeria", "Senegal", "Tanzania", "Tunisia"), 0),
    **dict.fromkeys(("Argentina", "Bolivia", "Brazil", "Canada", "Chile", "Colombia"), 1),
    **dict.fromkeys(("Ecuador", "Jamaica", "Mexico", "Panama", "Peru", "United States"), 1),
    **dict.fromkeys(("Uruguay", "Venezuela"), 1),
    **dict.fromkeys(("Cambodia", "China", "India", "Indonesia", "Iran", "Iraq", "Japan"), 2),
    **dict.fromkeys(("Jordan", "Malaysia", "Nepal", "Pakistan", "Saudi Arabia", "Thailand"), 2),
    **dict.fromkeys(("Turkey", "Vietnam"), 2),
    **dict.fromkeys(("Australia", "Fiji", "New Zealand", "Samoa"), 3),
    **dict.fromkeys(("Austria", "Belgium", "Denmark", "Finland", "France", "Germany"), 4),
    **dict.fromkeys(("Greece", "Hungary", "Ireland", "Italy", "Netherlands", "Norway"), 4),
    **dict.fromkeys(("Poland", "Portugal", "Romania", "Spain", "Sweden", "Switzerland"), 4),
}
# Digits, capital and small letters. States are of letters, so that ten nations have no customers.
NATION_KEYS = (*range(ord("0"), ord("9") + 1), *range(65, 91), *range(97, 123))


def region(values: Values) -> Table:
    """The five regions."""
    return Table(
        name="region",
        columns=(
            Column("r_regionkey", "int", generators.Sequence(start=0), not_null=True),
            Column("r_name", "varchar(25)", _in_order(map(Constant, REGIONS)), not_null=True),
            Column("r_comment", "varchar(152)", Text(31, 115), not_null=True),
        ),
        rows=len(REGIONS),
        primary_key=("r_regionkey",),
        unlogged=bool(values["unlogged"]),
    )


def nation(values: Values) -> Table:
    """One for each character with which the state of a customer may begin."""
    names, regions = map(Constant, NATIONS), map(Number, NATIONS.values())
    return Table(
        name="nation",
        columns=(
            Column("n_nationkey", "int", _in_order(map(Number, NATION_KEYS)), not_null=True),
            Column("n_name", "varchar(25)", _in_order(names), not_null=True),
            Column("n_regionkey", "int", _in_order(regions), not_null=True),
            Column("n_comment", "varchar(152)", Text(31, 114), not_null=True),
        ),
        rows=len(NATIONS),
        primary_key=("n_nationkey",),
        unlogged=bool(values["unlogged"]),
    )


def supplier(values: Values) -> Table:
    """As many as the definition has, for any number of warehouses."""
    one_of_all = OneOf(tuple(Choice(1, Number(key)) for key in NATION_KEYS))
    comment = OneOf(
        (Choice(1995, Text(25, 100)), Choice(5, Text(25, 100, containing="Complaints")))
    )
    return Table(
        name="supplier",
        columns=(
            Column("su_suppkey", "int", generators.Sequence(start=0), not_null=True),
            Column("su_name", "varchar(25)", Numbered("Supplier ", 0), not_null=True),
            Column("su_address", "varchar(40)", Text(10, 40), not_null=True),
            Column("su_nationkey", "int", one_of_all, not_null=True),
            Column("su_phone", "char(15)", Template("##-###-###-####"), not_null=True),
            Column("su_acctbal", "decimal(12,2)", Random(-999_99, 9999_99), not_null=True),
            Column("su_comment", "varchar(100)", comment, not_null=True, is_sorted_by_bytes=True),
        ),
        rows=SUPPLIERS,
        primary_key=("su_suppkey",),
        unlogged=bool(values["unlogged"]),
    )


def _in_order(laws: Iterable[Generator]) -> Generator:
    """Return the law of a column whose rows have these laws, one after the other."""
    return _halved(tuple(laws), 0)


def _halved(laws: Sequence[Generator], first: int, rows: int | None = None) -> Generator:
    """Return the law of the rows from ``first`` on, of so many, which have these laws."""
    rows = rows or len(laws)
    if len(laws) == 1:
        return laws[0]
    half = len(laws) // 2
    one, other = laws[:half], laws[half:]
    return Split(rows, first + half, _halved(one, first, rows), _halved(other, first + half, rows))
