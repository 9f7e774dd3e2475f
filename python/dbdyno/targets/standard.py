"""SQL that the standard has and every database here takes as it is."""

from dbdyno.targets.schema import ForeignKey, Index, Table


def literal(value: int | str) -> str:
    """A constant; in a text only quotes need care."""
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def index_added(table: Table, index: Index) -> str:
    """An index of the usual kind."""
    return f"create index {index.name} on {table.name} ({index.column})"


def foreign_key_added(table: Table, key: ForeignKey) -> str:
    """To the primary key, under the name that PostgreSQL would choose by itself."""
    name = f"{table.name}_{key.column}_fkey"
    return (
        f"alter table {table.name} add constraint {name} "
        f"foreign key ({key.column}) references {key.references}"
    )
