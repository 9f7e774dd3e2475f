"""The one form of table and index names in everything that dbdyno records, in SQL.

The schema is left out for ``public``, which contains nearly all of them.
"""


def table_name(schema: str, table: str) -> str:
    """Return an SQL expression for the name; the arguments are SQL expressions, too."""
    return f"case {schema} when 'public' then {table}::text else {schema} || '.' || {table} end"


def index_name(schema: str, table: str, index: str) -> str:
    """Return the same for an index, whose name follows its table's."""
    return f"{table_name(schema, table)} || '.' || {index}"
