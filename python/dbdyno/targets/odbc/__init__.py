"""Any database with an ODBC driver, in standard SQL. For the user's own scripts only.

There is no single way to ask every database for its tables: a workload's data is loaded only where
dbdyno has a target for the product.
"""

from collections.abc import Sequence

from dbdyno.errors import DbdynoError
from dbdyno.targets.connection import Connection
from dbdyno.targets.odbc.dialect import StandardDialect
from dbdyno.targets.odbc.target import behind_odbc
from dbdyno.targets.schema import FoundTable


def find_tables(connection: Connection, _names: Sequence[str]) -> dict[str, FoundTable]:
    """Refuse: a table that is not found would be created, or mistaken for dbdyno's."""
    raise DbdynoError(
        "unknown_product",
        f"dbdyno cannot create tables on {connection.product}",
        "run your own scripts (-f) on existing tables",
    )


TARGET = behind_odbc(
    "odbc", "any database by ODBC", dialect=StandardDialect(), find_tables=find_tables
)
