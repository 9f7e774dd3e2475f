"""Which tables statements use: every word of theirs that is the name of a table here.

A column that is called like some table brings that table in too, which does no harm. What a
view or a function hides is not found by words; plans name the tables under a view.
"""

from collections.abc import Iterable

from psycopg import Connection

from dbdyno.targets.script_text import names
from dbdyno.targets.telemetry import ScriptStatement

NAMED = """
    select distinct c.oid::int8 from unnest(%s::text[]) word
    join pg_class c on c.oid = to_regclass(word)
    where c.relkind in ('r', 'p', 'm') and c.relnamespace <> 'pg_catalog'::regnamespace"""

PARTITIONS_MAX = 100
# Each is described at a price: of more, those with the most activity so far.
PARTITIONS = """
    select s.relid::int8 from unnest(%s::oid[]) whole
    cross join lateral pg_partition_tree(whole) tree
    join pg_stat_user_tables s on s.relid = tree.relid
    where tree.isleaf
    order by n_tup_ins + n_tup_upd + n_tup_del + coalesce(s.seq_scan, 0) + coalesce(s.idx_scan, 0)
        desc
    limit %s"""


def used_tables(connection: Connection, statements: Iterable[ScriptStatement]) -> list[int]:
    """The oids of the tables that statements name."""
    words = {name for statement in statements for name in names(statement.sql)}
    return _tables_named(connection, words)


def tables_recorded(connection: Connection, names: Iterable[str]) -> list[int]:
    """The oids of the tables that records call so: without quotes, in their own letters."""
    quoted = (".".join(map(_quoted, name.split("."))) for name in names)
    return _tables_named(connection, quoted)


def partitions(connection: Connection, tables: Iterable[int]) -> list[int]:
    """The oids of those that hold the rows of the partitioned ones among the tables."""
    return [oid for (oid,) in connection.execute(PARTITIONS, [list(tables), PARTITIONS_MAX])]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _tables_named(connection: Connection, words: Iterable[str]) -> list[int]:
    """The oids of the tables of these names, as the search path finds them."""
    sound = [word for word in words if word.count(".") < 2]  # or the server would complain
    return [oid for (oid,) in connection.execute(NAMED, [sound])]
