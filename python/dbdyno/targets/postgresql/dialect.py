"""PostgreSQL's statements for tables declared as data. Writes text, talks to no server."""

from collections.abc import Iterator, Sequence

from dbdyno.targets.schema import Column, ForeignKey, Index, Partitioning, Table
from dbdyno.targets.standard import foreign_key_added, index_added, literal


class PostgresqlDialect:
    """Names are those of our own workloads: lower-case words that need no quotes."""

    tidying = "vacuum"

    def create(self, table: Table) -> list[str]:
        """The table, and its partitions if it has any.

        What all rows share is a default while the table is filled: it then neither travels nor
        is parsed for each row.
        """
        columns = ", ".join(_column(column) for column in table.columns)
        if table.partitioning is None:
            return [f"create{_unlogged(table)} table {table.name} ({columns}){_storage(table)}"]
        head = f"create table {table.name} ({columns})"
        by = f"partition by {table.partitioning.method} ({table.primary_key})"
        return [f"{head} {by}", *_partitions(table, table.partitioning)]

    def drop(self, names: Sequence[str]) -> str:
        """No cascade: what others built upon the tables stops it."""
        return f"drop table if exists {', '.join(names)}"

    def empty(self, table: Table) -> str:
        """Truncation is what lets the same transaction copy frozen rows."""
        return f"truncate {table.name}"

    def fill(self, table: Table, *, frozen: bool) -> str:
        """Binary COPY of what differs from row to row."""
        columns = ", ".join(column.name for column in table.columns if column.differs)
        options = "format binary, freeze true" if frozen else "format binary"
        return f"copy {table.name} ({columns}) from stdin ({options})"

    def filled(self, table: Table) -> list[str]:
        """Takes back the defaults that were there for filling only."""
        return [
            f"alter table {table.name} alter {column.name} drop default"
            for column in table.columns
            if column.fixed_value is not None
        ]

    def can_fill_frozen(self, table: Table) -> bool:
        """COPY FREEZE does not go through a partitioned table."""
        return table.partitioning is None

    def add_primary_key(self, table: Table) -> list[str]:
        """Named by the server: TABLE_pkey."""
        if table.primary_key is None:
            return []
        return [f"alter table {table.name} add primary key ({table.primary_key})"]

    def add_index(self, table: Table, index: Index) -> str:
        """A B-tree."""
        return index_added(table, index)

    def add_foreign_key(self, table: Table, key: ForeignKey) -> str:
        """Under the name that the server itself would choose."""
        return foreign_key_added(table, key)

    def continue_numbering(self, table: Table) -> list[str]:
        """Sets the sequences of serial columns; those of an empty table are right as they are."""
        return [
            f"select setval(pg_get_serial_sequence('{table.name}', '{column.name}'), {table.rows})"
            for column in table.columns
            if column.sql_type == "serial" and table.rows
        ]

    def tidy(self, tables: Sequence[Table]) -> list[str]:
        """Through the whole cache, where the server allows it (16 and later).

        Else vacuum would write each page at once, in its own small ring of buffers, and the
        checkpoint does that better.
        """
        vacuums = [f"vacuum (freeze, analyze) {table.name}" for table in tables]
        return [_ring_size("'0'"), *vacuums, _ring_size("reset_val")]

    def comment(self, table: str, text: str) -> str:
        """A comment on the table."""
        return f"comment on table {table} is {literal(text)}"


def _ring_size(value: str) -> str:
    """Sets it if there is such a setting, and does nothing if not."""
    return (
        f"select set_config(name, {value}, false) from pg_settings "
        "where name = 'vacuum_buffer_usage_limit'"
    )


def _column(column: Column) -> str:
    value = column.default if column.fixed_value is None else literal(column.fixed_value)
    default = f" default {value}" if value else ""
    return f"{column.name} {column.sql_type}{' not null' if column.not_null else ''}{default}"


def _unlogged(table: Table) -> str:
    return " unlogged" if table.unlogged else ""


def _storage(table: Table) -> str:
    return f" with (fillfactor = {table.fillfactor})" if table.fillfactor is not None else ""


def _partitions(table: Table, partitioning: Partitioning) -> Iterator[str]:
    """One statement a part; storage and persistence belong to the parts."""
    for index in range(partitioning.count):
        part = f"{table.name}_{index + 1}"
        bounds = _bounds(table, partitioning, index)
        yield (
            f"create{_unlogged(table)} table {part} partition of {table.name} "
            f"for values {bounds}{_storage(table)}"
        )


def _bounds(table: Table, partitioning: Partitioning, index: int) -> str:
    """Equal ranges of keys from 1 to the number of rows, open at both ends; or hashes."""
    if partitioning.method == "hash":
        return f"with (modulus {partitioning.count}, remainder {index})"
    size = -(-table.rows // partitioning.count)
    low = "minvalue" if index == 0 else str(index * size + 1)
    high = "maxvalue" if index == partitioning.count - 1 else str((index + 1) * size + 1)
    return f"from ({low}) to ({high})"
