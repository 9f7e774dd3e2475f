"""Statements of MariaDB and MySQL for tables declared as data. Writes text, queries no server.

The primary key is created before the rows: it is the table itself, and rows are loaded in its
order. Other indexes are built after the rows, in one pass each.
"""

from collections.abc import Iterator, Sequence

from dbdyno.databases.mysql.column_types import type_of
from dbdyno.databases.mysql.time_limits import UNLIMITED
from dbdyno.databases.schema import Column, ForeignKey, Index, Partitioning, Table, listed
from dbdyno.databases.standard import foreign_key_added, index_added, literal


class MysqlDialect:
    """Table and column names are those of our workloads: lower case, without need for quotes."""

    tidying = "analyze"

    def create(self, table: Table) -> list[str]:
        """Return the statement for the table with its primary key and partitions.

        Values that all rows share are defaults while the table is filled, so that they are not
        sent.
        """
        parts = [_column(column) for column in table.columns]
        if table.primary_key:
            parts.append(f"primary key ({listed(table.primary_key)})")
        return [f"create table {table.name} ({', '.join(parts)}) engine = innodb{_parts(table)}"]

    def drop(self, names: Sequence[str]) -> str:
        """Return the statement, which fails if other objects depend on the tables."""
        return f"drop table if exists {', '.join(reversed(names))}"

    def dependents(self, names: Sequence[str]) -> str:
        """Return the query for foreign keys of other tables: MariaDB drops one table at a time.

        Views do not stop the drop, and work again when the tables are back.
        """
        among = ", ".join(literal(name) for name in names)
        return f"""
            select concat('constraint ', constraint_name, ' on table ', constraint_schema, '.',
                table_name, ' depends on table ', referenced_table_name)
            from information_schema.referential_constraints
            where unique_constraint_schema = database() and referenced_table_name in ({among})
                and not (constraint_schema = database() and table_name in ({among}))
            order by constraint_schema, table_name, constraint_name"""

    def empty(self, table: Table) -> str:
        """Return a TRUNCATE, which commits the transaction that it is in."""
        return f"truncate {table.name}"

    def before_filling(self) -> list[str]:
        """Return a setting of the session: neither brand has one of a transaction."""
        return [UNLIMITED]

    def fill(self, table: Table, *, frozen: bool) -> str:
        """Return a LOAD DATA for the columns whose values differ; nothing is ever frozen."""
        assert not frozen
        columns = ", ".join(column.name for column in table.columns if column.differs)
        return (
            f"load data local infile 'dbdyno' into table {table.name} "
            f"character set utf8mb4 ({columns})"
        )

    def filled(self, table: Table) -> list[str]:
        """Return the statements that drop the defaults which were there only for filling."""
        return [
            f"alter table {table.name} alter column {column.name} "
            + ("drop default" if column.not_null else "set default null")
            for column in table.columns
            if column.fixed_value is not None
        ]

    def can_fill_frozen(self, _table: Table) -> bool:
        """Return False: there is no such thing."""
        return False

    def add_primary_key(self, _table: Table) -> list[str]:
        """Return nothing: it exists from the beginning."""
        return []

    def add_index(self, table: Table, index: Index) -> str:
        """Return the statement for a B-tree, which is built by sorting."""
        return index_added(table, index)

    def add_foreign_key(self, table: Table, key: ForeignKey) -> str:
        """Return the statement, which also creates an index on the columns if there is none."""
        return foreign_key_added(table, key)

    def continue_numbering(self, _table: Table) -> list[str]:
        """Return nothing: the server continues after the largest number by itself."""
        return []

    def tidy(self, tables: Sequence[Table]) -> list[str]:
        """Return the statement that updates the optimizer's statistics; no pages need freezing."""
        return [f"analyze table {', '.join(table.name for table in tables)}"]

    def comment(self, table: str, text: str) -> str:
        """Return the statement that sets a comment on the table."""
        return f"alter table {table} comment = {_literal(text)}"


def _column(column: Column) -> str:
    parts = [column.name, type_of(column.sql_type)]
    if column.not_null:
        parts.append("not null")
    if column.is_numbered:
        parts.append("auto_increment")
    elif value := _default(column):
        parts.append(f"default {value}")
    return " ".join(parts)


def _default(column: Column) -> str:
    if column.fixed_value is not None:
        return _literal(column.fixed_value)
    # The precision of the default must be that of the column.
    return "current_timestamp(6)" if column.default == "now()" else column.default


def _literal(value: int | str) -> str:
    if isinstance(value, int):
        return str(value)
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _parts(table: Table) -> str:
    """Return the partitioning clause: equal ranges of keys, the last without end; or hashes."""
    partitioning = table.partitioning
    if partitioning is None:
        return ""
    if partitioning.method == "hash":
        return f" partition by hash ({listed(table.primary_key)}) partitions {partitioning.count}"
    ranges = ", ".join(_ranges(table, partitioning))
    return f" partition by range ({listed(table.primary_key)}) ({ranges})"


def _ranges(table: Table, partitioning: Partitioning) -> Iterator[str]:
    size = -(-table.rows // partitioning.count)
    for part in range(1, partitioning.count + 1):
        bound = "maxvalue" if part == partitioning.count else f"({part * size + 1})"
        yield f"partition p{part} values less than {bound}"
