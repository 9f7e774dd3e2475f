"""The tables that statements use: every word in them that is the name of a table here.

A column with the same name as some table includes that table too, which does no harm. Tables hidden
behind a view or a function are not found in this way; plans name the tables of a view.
"""

from collections.abc import Iterable

from psycopg import Connection

from dbdyno.databases.script_text import names
from dbdyno.databases.telemetry import ScriptStatement

NAMED = """
    select distinct c.oid::int8 from unnest(%s::text[]) word
    join pg_class c on c.oid = to_regclass(word)
    where c.relkind in ('r', 'p', 'm') and c.relnamespace <> 'pg_catalog'::regnamespace"""

PARTITIONS_MAX = 100
# Describing each has a cost: if there are more, those with the most activity so far are described.
PARTITIONS = """
    select s.relid::int8 from unnest(%s::oid[]) whole
    cross join lateral pg_partition_tree(whole) tree
    join pg_stat_user_tables s on s.relid = tree.relid
    where tree.isleaf
    order by n_tup_ins + n_tup_upd + n_tup_del + coalesce(s.seq_scan, 0) + coalesce(s.idx_scan, 0)
        desc
    limit %s"""


def used_tables(connection: Connection, statements: Iterable[ScriptStatement]) -> list[int]:
    """Return the OIDs of the tables that statements name."""
    candidates = {name for statement in statements for name in names(statement.sql, "postgresql")}
    return _tables_named(connection, candidates)


def tables_recorded(connection: Connection, names: Iterable[str]) -> list[int]:
    """Return the OIDs of tables by their names in records: unquoted, in their own letters."""
    quoted = (".".join(map(_quoted, name.split("."))) for name in names)
    return _tables_named(connection, quoted)


def partitions(connection: Connection, tables: Iterable[int]) -> list[int]:
    """Return the OIDs of the partitions that contain the rows of these tables."""
    return [oid for (oid,) in connection.execute(PARTITIONS, [list(tables), PARTITIONS_MAX])]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _tables_named(connection: Connection, candidates: Iterable[str]) -> list[int]:
    """Return the OIDs of the tables with these names on the search path."""
    sound = [name for name in candidates if name.count(".") < 2]  # the server would raise an error
    return [oid for (oid,) in connection.execute(NAMED, [sound])]
