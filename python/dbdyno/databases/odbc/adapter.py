"""What all adapters over ODBC have in common: the driver says which product it is."""

from collections.abc import Callable, Sequence

from dbdyno.databases.adapter import Adapter, Dialect
from dbdyno.databases.bare import bare_adapter
from dbdyno.databases.connection import Connection
from dbdyno.databases.odbc.server_errors import understood
from dbdyno.databases.schema import FoundTable


def behind_odbc(
    name: str,
    title: str,
    *,
    dialect: Dialect | None = None,
    find_tables: Callable[[Connection, Sequence[str]], dict[str, FoundTable]] | None = None,
    snapshot: str = "",
) -> Adapter:
    """Return an adapter; the arguments are those of ``bare_adapter``."""
    return bare_adapter(
        name,
        title,
        describe=lambda connection: (connection.product, connection.version),
        understood=understood,
        dialect=dialect,
        find_tables=find_tables,
        snapshot=snapshot,
    )
