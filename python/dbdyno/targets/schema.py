"""Tables as data, which a workload declares and a target turns into its own statements.

Nothing here is SQL of one database; types are those that all of them know, and ``generator`` says
in the loader's terms how a column is filled.
"""

from typing import Literal

from msgspec import Struct

from dbdyno.model.plan import ColumnType, Generator

PartitionMethod = Literal["range", "hash"]


class Column(Struct, frozen=True):
    """One column. ``serial`` is an integer that the server numbers.

    ``generator`` defines how loading fills it.
    """

    name: str
    sql_type: str
    generator: Generator = "null"
    not_null: bool = False
    default: str = ""

    @property
    def load_kind(self) -> ColumnType:
        """The loader's name for the type."""
        match self.sql_type:
            case "int" | "serial":
                return "int4"
            case "bigint":
                return "int8"
            case "timestamp" | "timestamptz":
                return "timestamp"
            case _:
                return "text"

    @property
    def fixed_value(self) -> int | str | None:
        """The value that all rows share if a default can provide it; None also if rows differ."""
        if self.default:
            return None
        match self.generator:
            case {"number": {"value": int(number)}}:
                return number
            case {"constant": {"text": str(text)}}:
                return text
            case _:
                return None

    @property
    def differs(self) -> bool:
        """Whether its values differ, so that each must be sent."""
        return self.generator != "null" and self.fixed_value is None


class Partitioning(Struct, frozen=True):
    """The division of a table into so many partitions by its primary key."""

    method: PartitionMethod
    count: int


class ForeignKey(Struct, frozen=True, order=True):
    """A column that refers to another table, whose primary key has the same name."""

    column: str
    references: str


class Index(Struct, frozen=True):
    """An index over one column."""

    name: str
    column: str


class Table(Struct, frozen=True, kw_only=True):
    """One table, how many rows it is loaded with, and how it is stored."""

    name: str
    columns: tuple[Column, ...]
    rows: int
    primary_key: str | None = None
    indexes: tuple[Index, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    fillfactor: int | None = None
    unlogged: bool = False
    partitioning: Partitioning | None = None


class FoundColumn(Struct, frozen=True):
    """A column that exists; its type is named as in :class:`Column`."""

    name: str
    sql_type: str


class FoundTable(Struct, frozen=True, kw_only=True):
    """A table that exists in the database."""

    name: str
    is_table: bool
    columns: tuple[FoundColumn, ...]
    primary_key: tuple[str, ...]
    foreign_keys: frozenset[ForeignKey]
    fillfactor: int | None
    unlogged: bool
    partitioning: Partitioning | None
    comment: str
