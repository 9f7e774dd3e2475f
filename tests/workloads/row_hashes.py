"""Hashes of whole tables by which the rows of different servers are compared: equal but for types.

The servers compute them, each from the same text of a row: a sum, in which the order does not
matter, as each row has its key in it.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from dbdyno.databases.schema import Column, Table
from tests.workloads.both_servers import Database

NUMBERS = {
    "postgresql": "('x' || left(md5({row}), 15))::bit(60)::bigint",
    "mysql": "cast(conv(left(md5({row}), 15), 16, 10) as unsigned)",
}
TIMES = {
    "postgresql": "to_char({name}, 'YYYY-MM-DD HH24:MI:SS.US')",
    "mysql": "date_format({name}, '%Y-%m-%d %H:%i:%s.%f')",
}
TEXTS = {"postgresql": "cast({name} as text)", "mysql": "cast({name} as char)"}


def row_hashes(
    database: Database,
    tables: Iterable[Table],
    *,
    where: Mapping[str, str] = MappingProxyType({}),
    with_times: bool = True,
) -> dict[str, tuple[int, int]]:
    """The number of rows and their hash, by table; of times maybe only whether there is one.

    ``where`` says, of the tables that it names, which rows these are.
    """
    found = {}
    for table in tables:
        texts = [_text(column, database.target.name, with_times) for column in table.columns]
        row = f"concat_ws('|', {', '.join(texts)})"
        number = NUMBERS[database.target.name].format(row=row)
        which = where.get(table.name, "1 = 1")
        query = f"select count(*), sum({number}) from {table.name} where {which}"
        ((rows, made),) = database.rows(query)
        found[table.name] = rows, int(made or 0)
    return found


def _text(column: Column, database: str, with_times: bool) -> str:
    name, kind = column.name, column.sql_type
    text = TEXTS[database]
    if kind.startswith("timestamp"):
        text = TIMES[database] if with_times else "'a time'"
    elif kind.startswith("char"):
        text = "rtrim({name})"
    return f"case when {name} is null then 'null' else {text.format(name=name)} end"
