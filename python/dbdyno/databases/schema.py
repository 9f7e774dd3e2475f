"""Tables as data, which a workload declares and a target turns into its own statements.

Nothing here is SQL of one database; types are those that all of them know, and ``generator`` says
how loading fills a column.
"""

import re
from collections.abc import Iterable
from math import prod
from typing import Literal

from msgspec import Struct

from dbdyno.model.generators import (
    NULL,
    Constant,
    Generator,
    Null,
    Number,
    mean_number,
    value_at,
)
from dbdyno.model.plan import ColumnType

PartitionMethod = Literal["range", "hash"]

_SIZED = re.compile(r"(?:var)?char\(\d+\)|decimal\(\d+,(?P<scale>\d+)\)")
_KINDS: dict[str, ColumnType] = {
    "int": "int4",
    "serial": "int4",
    "bigint": "int8",
    "bigserial": "int8",
    "boolean": "boolean",
    "text": "text",
    "json": "json",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamp",
}


class Column(Struct, frozen=True):
    """One column, of type ``int``, ``bigint``, ``boolean``, ``decimal(p,s)``, ``char(n)``,
    ``varchar(n)``, ``text``, ``json``, ``date``, ``timestamp`` or ``timestamptz``.

    ``serial`` and ``bigserial`` are integers that the server numbers. ``generator`` defines how
    loading fills the column. A text that ``is_sorted_by_bytes`` has the same order on every server
    and in every database, whatever their collations.
    """  # noqa: D205 (the types are what it is)

    name: str
    sql_type: str
    generator: Generator = NULL
    not_null: bool = False
    default: str = ""
    is_sorted_by_bytes: bool = False

    def __post_init__(self) -> None:
        """Refuse a type that does not exist, before any server is asked."""
        _ = self.load_kind

    @property
    def load_kind(self) -> ColumnType:
        """The loader's name for the type."""
        if match := _SIZED.fullmatch(self.sql_type):
            return "text" if match["scale"] is None else {"decimal": {"scale": int(match["scale"])}}
        if kind := _KINDS.get(self.sql_type):
            return kind
        message = f"column {self.name} has the unknown type {self.sql_type}"
        raise ValueError(message)

    @property
    def is_numbered(self) -> bool:
        """Whether the server numbers new rows."""
        return self.sql_type in ("serial", "bigserial")

    @property
    def fixed_value(self) -> int | str | None:
        """The value that all rows share if a default can provide it; None also if rows differ."""
        if self.default:
            return None
        match self.load_kind, self.generator:
            case "int4" | "int8", Number(value):
                return value
            case "text", Constant(text):
                return text
            case _:
                return None

    @property
    def differs(self) -> bool:
        """Whether its values differ, so that each must be sent."""
        return not isinstance(self.generator, Null) and self.fixed_value is None


class Partitioning(Struct, frozen=True):
    """The division of a table into so many partitions by a number: ranges of it, or its hash."""

    method: PartitionMethod
    column: str
    count: int


class ForeignKey(Struct, frozen=True, order=True):
    """Columns that refer to a key of another table: to these columns of it, in this order."""

    columns: tuple[str, ...]
    references: str
    referenced: tuple[str, ...]


class Index(Struct, frozen=True):
    """An index over columns; ``unique`` makes it a key, to which foreign keys may refer."""

    name: str
    columns: tuple[str, ...]
    unique: bool = False


class Table(Struct, frozen=True, kw_only=True):
    """One table, how many rows it is loaded with, and how it is stored.

    ``per`` makes its rows children: each of ``rows`` ancestors has as many as this law says, and
    with a second law, each of those has as many. Generators then number ancestors, children and
    grandchildren. Rows of an ``is_queue`` leave in regular work: that loaded ones are gone means
    nothing.
    """

    name: str
    columns: tuple[Column, ...]
    rows: int
    per: tuple[Generator, ...] = ()
    primary_key: tuple[str, ...] = ()
    indexes: tuple[Index, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    fillfactor: int | None = None
    unlogged: bool = False
    partitioning: Partitioning | None = None
    is_queue: bool = False

    @property
    def rows_expected(self) -> int:
        """The number of rows; of children on average, since chance decides how many there are."""
        return round(self.rows * prod(mean_number(law) for law in self.per))

    @property
    def partition_starts(self) -> list[int]:
        """Where each range of the partitioning column but the first begins, if it is divided so.

        The values that are loaded, from 1 on, are divided evenly.
        """
        if self.partitioning is None or self.partitioning.method == "hash":
            return []
        law = next(one.generator for one in self.columns if one.name == self.partitioning.column)
        last = (value_at(law, self.rows - 1) or 0) if self.rows else 0
        size = max(1, -(-last // self.partitioning.count))
        return [part * size + 1 for part in range(1, self.partitioning.count)]

    def unique_keys(self) -> frozenset[tuple[str, ...]]:
        """Return the keys besides the primary key."""
        return frozenset(index.columns for index in self.indexes if index.unique)


class FoundColumn(Struct, frozen=True):
    """A column that exists; its type is named as in :class:`Column`."""

    name: str
    sql_type: str


class FoundTable(Struct, frozen=True, kw_only=True):
    """A table that exists in the database.

    ``indexes`` have the columns of those that are no keys, where a database tells.
    """

    name: str
    is_table: bool
    columns: tuple[FoundColumn, ...]
    primary_key: tuple[str, ...]
    unique_keys: frozenset[tuple[str, ...]]
    foreign_keys: frozenset[ForeignKey]
    indexes: frozenset[tuple[str, ...]] = frozenset()
    fillfactor: int | None
    unlogged: bool
    partitioning: Partitioning | None
    comment: str


def listed(names: Iterable[str]) -> str:
    """Return names as they stand between parentheses."""
    return ", ".join(names)
