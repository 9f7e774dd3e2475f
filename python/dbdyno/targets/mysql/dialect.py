"""Statements of MariaDB and MySQL for tables declared as data. Writes text, asks no server.

The primary key is there before the rows: it is the table itself, and rows come in its order.
Other indexes are built after the rows, in one pass each.
"""

from collections.abc import Iterator, Sequence

from dbdyno.targets.mysql.column_types import type_of
from dbdyno.targets.schema import Column, ForeignKey, Index, Partitioning, Table
from dbdyno.targets.standard import foreign_key_added, index_added


class MysqlDialect:
    """Names are those of our own workloads: lower-case words that need no quotes."""

    tidying = "analyze"

    def create(self, table: Table) -> list[str]:
        """The table with its primary key and its parts.

        What all rows share is a default while the table is filled, so that it need not travel.
        """
        parts = [_column(column) for column in table.columns]
        if table.primary_key:
            parts.append(f"primary key ({table.primary_key})")
        return [f"create table {table.name} ({', '.join(parts)}) engine = innodb{_parts(table)}"]

    def drop(self, names: Sequence[str]) -> str:
        """What others built upon the tables stops it."""
        return f"drop table if exists {', '.join(reversed(names))}"

    def empty(self, table: Table) -> str:
        """Ends the transaction that it is in."""
        return f"truncate {table.name}"

    def fill(self, table: Table, *, frozen: bool) -> str:
        """Text, of what differs from row to row; nothing is ever frozen."""
        assert not frozen
        columns = ", ".join(column.name for column in table.columns if column.differs)
        return (
            f"load data local infile 'dbdyno' into table {table.name} "
            f"character set utf8mb4 ({columns})"
        )

    def filled(self, table: Table) -> list[str]:
        """Takes back the defaults that were there for filling only."""
        return [
            f"alter table {table.name} alter column {column.name} "
            + ("drop default" if column.not_null else "set default null")
            for column in table.columns
            if column.fixed_value is not None
        ]

    def can_fill_frozen(self, _table: Table) -> bool:
        """There is no such thing."""
        return False

    def add_primary_key(self, _table: Table) -> list[str]:
        """It is there from the beginning."""
        return []

    def add_index(self, table: Table, index: Index) -> str:
        """A B-tree, built by sorting."""
        return index_added(table, index)

    def add_foreign_key(self, table: Table, key: ForeignKey) -> str:
        """Adds an index over the column, too, where there is none.

        It wants the other column named, which bears the same name in every workload.
        """
        return f"{foreign_key_added(table, key)} ({key.column})"

    def continue_numbering(self, _table: Table) -> list[str]:
        """The server goes on after the largest number by itself."""
        return []

    def tidy(self, tables: Sequence[Table]) -> list[str]:
        """The optimizer's statistics; there are no pages to be frozen."""
        return [f"analyze table {', '.join(table.name for table in tables)}"]

    def comment(self, table: str, text: str) -> str:
        """A comment on the table."""
        return f"alter table {table} comment = {_literal(text)}"


def _column(column: Column) -> str:
    words = [column.name, type_of(column.sql_type)]
    if column.not_null:
        words.append("not null")
    if column.sql_type == "serial":
        words.append("auto_increment")
    elif value := _default(column):
        words.append(f"default {value}")
    return " ".join(words)


def _default(column: Column) -> str:
    if column.fixed_value is not None:
        return _literal(column.fixed_value)
    # The precision of a moment must be that of its column.
    return "current_timestamp(6)" if column.default == "now()" else column.default


def _literal(value: int | str) -> str:
    if isinstance(value, int):
        return str(value)
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _parts(table: Table) -> str:
    """Equal ranges of keys from 1 to the number of rows, open at the end; or hashes."""
    partitioning = table.partitioning
    if partitioning is None:
        return ""
    if partitioning.method == "hash":
        return f" partition by hash ({table.primary_key}) partitions {partitioning.count}"
    ranges = ", ".join(_ranges(table, partitioning))
    return f" partition by range ({table.primary_key}) ({ranges})"


def _ranges(table: Table, partitioning: Partitioning) -> Iterator[str]:
    size = -(-table.rows // partitioning.count)
    for part in range(1, partitioning.count + 1):
        bound = "maxvalue" if part == partitioning.count else f"({part * size + 1})"
        yield f"partition p{part} values less than {bound}"
