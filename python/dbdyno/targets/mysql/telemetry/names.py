"""How tables and indexes are called in all that dbdyno records: one way.

The database is left out where it is the one that the load uses, as nearly always.
"""


def table_name(database: str, qualified: str) -> str:
    """The name for ``database.table``."""
    return qualified.removeprefix(f"{database}.")
