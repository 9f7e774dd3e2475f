"""Standard SQL that every supported database accepts unchanged."""

from dbdyno.databases.connection import Connection
from dbdyno.databases.schema import ForeignKey, Index, Table, listed


def says(connection: Connection) -> str:
    """Return what a server says of itself, with the function that most have for it."""
    return str(connection.execute("select version()").fetchone()[0])


def literal(value: int | str) -> str:
    """Return a literal; in texts only quotes are escaped."""
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def index_added(table: Table, index: Index) -> str:
    """Return the statement that creates an index of the default kind, or a unique key."""
    if index.unique:
        return (
            f"alter table {table.name} add constraint {index.name} unique ({listed(index.columns)})"
        )
    return f"create index {index.name} on {table.name} ({listed(index.columns)})"


def primary_key_added(table: Table) -> list[str]:
    """Return the statement, if there is a key; the database chooses the constraint's name."""
    if not table.primary_key:
        return []
    return [f"alter table {table.name} add primary key ({listed(table.primary_key)})"]


def foreign_key_added(table: Table, key: ForeignKey) -> str:
    """Return the statement; the constraint has the name that PostgreSQL would choose itself.

    The referenced columns must be named for MySQL.
    """
    name = "_".join((table.name, *key.columns, "fkey"))
    return (
        f"alter table {table.name} add constraint {name} foreign key ({listed(key.columns)}) "
        f"references {key.references} ({listed(key.referenced)})"
    )
