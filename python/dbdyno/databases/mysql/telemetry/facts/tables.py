"""Tables that statements use, also through views: size, rows, indexes, by the server's statistics.

InnoDB stores the rows in the primary key: its bytes are the table's, and are not counted twice. The
server reports the bytes of all other indexes together; each is assigned an equal part.
"""

from collections.abc import Sequence

from dbdyno.databases.connection import Connection
from dbdyno.databases.script_text import names
from dbdyno.databases.telemetry import ScriptStatement
from dbdyno.model.telemetry import IndexFacts, TableFacts

TABLES_MAX = 100
PRIMARY = "PRIMARY"
FILLFACTOR = 100

NAMED = """
    select table_name from information_schema.tables
    where table_schema = database() and table_type = 'BASE TABLE' and table_name in %s
    order by data_length + index_length desc limit %s"""
VIEWS = """
    select table_name, coalesce(view_definition, '') from information_schema.views
    where table_schema = database() and table_name in %s"""
TABLES = """
    select table_name, coalesce(table_rows, 0), coalesce(data_length, 0),
        coalesce(index_length, 0), coalesce(avg_row_length, 0), @@innodb_page_size
    from information_schema.tables
    where table_schema = database() and table_name in %s order by table_name"""
COLUMNS = """
    select table_name, column_name from information_schema.columns
    where table_schema = database() and table_name in %s order by ordinal_position"""
INDEXES = """
    select table_name, index_name, column_name, not non_unique from information_schema.statistics
    where table_schema = database() and table_name in %s and column_name is not null
    order by index_name, seq_in_index"""


def used_tables(connection: Connection, statements: Sequence[ScriptStatement]) -> list[str]:
    """Return the tables of this database that the statements, or the views in them, name."""
    texts = [*(one.sql for one in statements), *views(connection, statements)]
    candidates = _names_in(texts)
    if not candidates:
        return []
    return [
        name for (name,) in connection.execute(NAMED, [sorted(candidates), TABLES_MAX]).fetchall()
    ]


def views(connection: Connection, statements: Sequence[ScriptStatement]) -> list[str]:
    """Return the queries of the views that the statements name, and of the views in those.

    Without the privilege to see a view's query it is empty.
    """
    found: dict[str, str] = {}
    asked: set[str] = set()
    wanted = _names_in([one.sql for one in statements])
    while wanted:
        asked |= wanted
        seen: dict[str, str] = dict(connection.execute(VIEWS, [sorted(wanted)]).fetchall())
        found |= seen
        wanted = _names_in(list(seen.values())) - asked
    return list(found.values())


def _names_in(texts: Sequence[str]) -> set[str]:
    return {name.strip("`").strip('"') for text in texts for name in names(text, "mysql")}


def table_facts(connection: Connection, tables: Sequence[str]) -> tuple[TableFacts, ...]:
    """Return the facts of these tables, ordered by name."""
    if not tables:
        return ()
    columns, indexes, found = (
        connection.execute(query, [list(tables)]).fetchall() for query in (COLUMNS, INDEXES, TABLES)
    )
    return tuple(
        TableFacts(
            name=name,
            rows=float(rows),
            bytes=int(size),
            pages=int(size) // page_bytes,
            fillfactor=FILLFACTOR,
            row_bytes=float(width) or None,
            columns=tuple(column for of, column in columns if of == name),
            indexes=_indexes([row[1:] for row in indexes if row[0] == name], int(index_bytes)),
        )
        for name, rows, size, index_bytes, width, page_bytes in found
    )


def _indexes(parts: Sequence[tuple[str, str, int]], bytes_together: int) -> tuple[IndexFacts, ...]:
    """Return the indexes from rows of one index column each."""
    columns: dict[str, list[str]] = {}
    unique: dict[str, bool] = {}
    for index, column, is_unique in parts:
        columns.setdefault(index, []).append(column)
        unique[index] = bool(is_unique)
    others = max(len(columns.keys() - {PRIMARY}), 1)
    return tuple(
        IndexFacts(
            name=index,
            columns=tuple(named),
            is_unique=unique[index],
            is_primary=index == PRIMARY,
            bytes=0 if index == PRIMARY else bytes_together // others,
        )
        for index, named in columns.items()
    )
