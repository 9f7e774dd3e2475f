"""Statements of MariaDB and MySQL for tables declared as data. Writes text, queries no server.

The primary key is created before the rows: it is the table itself, and rows are loaded in its
order. Other indexes are built after the rows, in one pass each.
"""

from collections.abc import Sequence

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.column_types import TYPES
from dbdyno.databases.mysql.maintenance import UNLIMITED
from dbdyno.databases.schema import Column, Table, listed
from dbdyno.databases.standard import StandardDialect, literal


class MysqlDialect(StandardDialect):
    """Where the statements of both differ from the standard's."""

    now = "current_timestamp(6)"  # the precision of the default must be that of the column
    types = TYPES
    bytewise_collation = "utf8mb4_bin"

    def create(self, table: Table) -> list[str]:
        """Return the statement for the table with its primary key and partitions."""
        parts = [self.column(column) for column in table.columns]
        if table.primary_key:
            parts.append(f"primary key ({listed(table.primary_key)})")
        partitions = _partitions(table)
        return [f"create table {table.name} ({', '.join(parts)}) engine = innodb{partitions}"]

    def column(self, column: Column) -> str:
        """Return the definition of a column, which may number its rows."""
        return super().column(column) + " auto_increment" * column.is_numbered

    def default(self, column: Column) -> str:
        """Return the default of a column; a text as these servers read it."""
        if column.fixed_value is not None:
            return _literal(column.fixed_value)
        return super().default(column)

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

    def add_primary_key(self, _table: Table) -> list[str]:
        """Return nothing: it exists from the beginning."""
        return []

    def continue_numbering(self, _table: Table) -> list[str]:
        """Return nothing: the server continues after the largest number by itself."""
        return []

    def tidy(self, tables: Sequence[Table], _connection: Connection) -> list[str]:
        """Return the statement that updates the optimizer's statistics; no pages need freezing."""
        return [f"analyze table {', '.join(table.name for table in tables)}"]

    def comment(self, table: str, text: str) -> str:
        """Return the statement that sets a comment on the table."""
        return f"alter table {table} comment = {_literal(text)}"

    def first_row(self, query: str) -> str:
        """Return the query: MySQL lacks the standard's form."""
        return f"{query} limit 1"


def _literal(value: int | str) -> str:
    if isinstance(value, int):
        return str(value)
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _partitions(table: Table) -> str:
    """Return the partitioning clause: equal ranges of numbers, the last without end; or hashes."""
    if table.partitioning is None:
        return ""
    column, count = table.partitioning.column, table.partitioning.count
    if table.partitioning.method == "hash":
        return f" partition by hash ({column}) partitions {count}"
    bounds = [f"({start})" for start in table.partition_starts]
    ranges = ", ".join(
        f"partition p{part} values less than {bound}"
        for part, bound in enumerate([*bounds, "maxvalue"], 1)
    )
    return f" partition by range ({column}) ({ranges})"
