"""Example values for a statement's parameters, for a plan like the server's own for such a call.

Each parameter that is compared with a column gets a value from the middle of that column's
statistics; for the others nothing is known, and they are NULL.
"""

import re
from collections.abc import Sequence

from psycopg import Connection

from dbdyno.databases.script_text import Prepared

OPERATOR = r"(?:=|<=|>=|<|>|\bin\s*\()"
# From where it begins: from inside a literal of megabytes, each search would take as many steps.
COLUMN = r"(?<![\w.])([\w.]+)"
COMPARED = re.compile(rf"{COLUMN}\s*{OPERATOR}\s*\$(\d+)|\$(\d+)\s*{OPERATOR}\s*([\w.]+)", re.I)
BETWEEN = re.compile(rf"{COLUMN}\s+between\s+\$(\d+)\s+and\s+\$(\d+)", re.I)

# The middle of the histogram, else the most frequent value, as text; arrays of any type are cast to
# text.
VALUES = """
    select attname::text, coalesce(bounds[(array_length(bounds, 1) + 1) / 2], common[1])
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    join pg_stats s on s.schemaname = n.nspname and s.tablename = c.relname,
    lateral (select histogram_bounds::text::text[], most_common_vals::text::text[])
        as found(bounds, common)
    where c.oid = any(%s::oid[]) and attname = any(%s::text[])
    order by c.reltuples"""


def example(connection: Connection, statement: Prepared, tables: Sequence[int]) -> list[str | None]:
    """Return a value for each parameter, as text; None if nothing is known."""
    columns = compared_columns(statement.text)
    wanted = sorted(set(columns.values()))
    values: dict[str, str | None] = dict(
        connection.execute(VALUES, [list(tables), wanted]).fetchall()
    )
    numbers = range(1, statement.parameters + 1)
    return [values.get(columns.get(number, "")) for number in numbers]


def compared_columns(text: str) -> dict[int, str]:
    """Return the column with which each parameter is compared, where that is obvious."""
    found: dict[int, str] = {}
    for column, number, other_number, other_column in COMPARED.findall(text):
        found[int(number or other_number)] = (column or other_column).rpartition(".")[2].lower()
    for column, *ends in BETWEEN.findall(text):
        found |= dict.fromkeys(map(int, ends), column.rpartition(".")[2].lower())
    return found
