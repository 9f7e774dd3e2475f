"""PostgreSQL's statements for tables declared as data. Writes text, queries no server."""

from collections.abc import Iterator, Sequence

from dbdyno.targets.postgresql.time_limits import UNLIMITED_TRANSACTION
from dbdyno.targets.schema import Column, ForeignKey, Index, Partitioning, Table
from dbdyno.targets.standard import foreign_key_added, index_added, literal


class PostgresqlDialect:
    """Table and column names are those of our workloads: lower case, without need for quotes."""

    tidying = "vacuum"

    def create(self, table: Table) -> list[str]:
        """Return the statements for the table, and its partitions if it has any.

        Values that all rows share are defaults while the table is filled, so that they are neither
        sent nor parsed for each row.
        """
        columns = ", ".join(_column(column) for column in table.columns)
        if table.partitioning is None:
            return [f"create{_unlogged(table)} table {table.name} ({columns}){_storage(table)}"]
        head = f"create table {table.name} ({columns})"
        by = f"partition by {table.partitioning.method} ({table.primary_key})"
        return [f"{head} {by}", *_partitions(table, table.partitioning)]

    def drop(self, names: Sequence[str]) -> str:
        """Return the statement, which without CASCADE fails if others depend on the tables."""
        return f"drop table if exists {', '.join(names)}"

    def dependents(self, _names: Sequence[str]) -> str:
        """Return nothing: the server drops all tables of a statement or none."""
        return ""

    def empty(self, table: Table) -> str:
        """Return a TRUNCATE, which lets the same transaction copy frozen rows."""
        return f"truncate {table.name}"

    def before_filling(self) -> list[str]:
        """Return a setting of the transaction, which leaves a pooler's session as it was."""
        return [UNLIMITED_TRANSACTION]

    def fill(self, table: Table, *, frozen: bool) -> str:
        """Return a binary COPY of the columns whose values differ."""
        columns = ", ".join(column.name for column in table.columns if column.differs)
        options = "format binary, freeze true" if frozen else "format binary"
        return f"copy {table.name} ({columns}) from stdin ({options})"

    def filled(self, table: Table) -> list[str]:
        """Return the statements that drop the defaults which were there only for filling."""
        return [
            f"alter table {table.name} alter {column.name} drop default"
            for column in table.columns
            if column.fixed_value is not None
        ]

    def can_fill_frozen(self, table: Table) -> bool:
        """Return False for partitioned tables, which COPY FREEZE does not support."""
        return table.partitioning is None

    def add_primary_key(self, table: Table) -> list[str]:
        """Return the statement; the server names the constraint TABLE_pkey."""
        if table.primary_key is None:
            return []
        return [f"alter table {table.name} add primary key ({table.primary_key})"]

    def add_index(self, table: Table, index: Index) -> str:
        """Return the statement for a B-tree."""
        return index_added(table, index)

    def add_foreign_key(self, table: Table, key: ForeignKey) -> str:
        """Return the statement; the constraint has the name that the server would choose."""
        return foreign_key_added(table, key)

    def continue_numbering(self, table: Table) -> list[str]:
        """Return the statements that set the sequences of serial columns; none for no rows."""
        return [
            f"select setval(pg_get_serial_sequence('{table.name}', '{column.name}'), {table.rows})"
            for column in table.columns
            if column.sql_type == "serial" and table.rows
        ]

    def tidy(self, tables: Sequence[Table]) -> list[str]:
        """Return vacuums that may use the whole cache if the server supports it (16 and later).

        Otherwise vacuum writes each page at once, in its own small ring of buffers, which the
        checkpoint does better.
        """
        vacuums = [f"vacuum (freeze, analyze) {table.name}" for table in tables]
        return [_ring_size("'0'"), *vacuums, _ring_size("reset_val")]

    def comment(self, table: str, text: str) -> str:
        """Return the statement that sets a comment on the table."""
        return f"comment on table {table} is {literal(text)}"


def _ring_size(value: str) -> str:
    """Return a statement that sets the ring's size if the server has this setting."""
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
    """Yield one statement for each partition; storage and persistence belong to the partitions."""
    for index in range(partitioning.count):
        part = f"{table.name}_{index + 1}"
        bounds = _bounds(table, partitioning, index)
        yield (
            f"create{_unlogged(table)} table {part} partition of {table.name} "
            f"for values {bounds}{_storage(table)}"
        )


def _bounds(table: Table, partitioning: Partitioning, index: int) -> str:
    """Return a partition's bounds: an equal range of keys, open at both ends of all; or hashes."""
    if partitioning.method == "hash":
        return f"with (modulus {partitioning.count}, remainder {index})"
    size = -(-table.rows // partitioning.count)
    low = "minvalue" if index == 0 else str(index * size + 1)
    high = "maxvalue" if index == partitioning.count - 1 else str((index + 1) * size + 1)
    return f"from ({low}) to ({high})"
