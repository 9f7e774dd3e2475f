"""Standard SQL that every supported database accepts unchanged."""

from dbdyno.targets.schema import ForeignKey, Index, Table


def literal(value: int | str) -> str:
    """Return a literal; in texts only quotes are escaped."""
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def index_added(table: Table, index: Index) -> str:
    """Return the statement that creates an index of the default kind."""
    return f"create index {index.name} on {table.name} ({index.column})"


def foreign_key_added(table: Table, key: ForeignKey) -> str:
    """Return the statement; the constraint has the name that PostgreSQL would choose itself."""
    name = f"{table.name}_{key.column}_fkey"
    return (
        f"alter table {table.name} add constraint {name} "
        f"foreign key ({key.column}) references {key.references}"
    )
