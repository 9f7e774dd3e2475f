"""How tables and indexes are called in all that dbdyno records: one way, in SQL.

The schema is left out for ``public``, where nearly all of them are.
"""


def table_name(schema: str, table: str) -> str:
    """An SQL expression for the name; the arguments are SQL expressions, too."""
    return f"case {schema} when 'public' then {table}::text else {schema} || '.' || {table} end"


def index_name(schema: str, table: str, index: str) -> str:
    """The same for an index, which is named after its table."""
    return f"{table_name(schema, table)} || '.' || {index}"
