"""The one form of table names in everything that dbdyno records.

The database is left out if it is the one that the load uses, as it nearly always is.
"""


def table_name(database: str, qualified: str) -> str:
    """Return the name for ``database.table``."""
    return qualified.removeprefix(f"{database}.")
