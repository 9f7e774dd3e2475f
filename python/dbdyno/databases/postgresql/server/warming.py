"""Reads PostgreSQL's tables and indexes into its buffers or, failing that, into the page cache.

With ``pg_prewarm`` the server reads them itself. Without it every file is read once: its pages are
then in the kernel's cache, one copy away.
"""

from collections.abc import Sequence
from pathlib import Path

from psycopg import Connection

CHUNK_BYTES = 1 << 20
# A partitioned table and its indexes have no files; their partitions do.
RELATIONS = """
with recursive tree (oid) as (
  select unnest(%s::regclass[])::oid
  union
  select inhrelid from pg_inherits join tree on inhparent = tree.oid
)
select c.oid, pg_relation_size(c.oid), pg_relation_filepath(c.oid)
from tree
join pg_class t on t.oid = tree.oid
join pg_class c on c.oid in (t.oid, t.reltoastrelid)
  or c.oid in (select indexrelid from pg_index where indrelid in (t.oid, t.reltoastrelid))
where pg_relation_filepath(c.oid) is not null
"""


def warm(connection: Connection, tables: Sequence[str]) -> str:
    """Read the tables with partitions, TOAST and indexes; return what was done, in words."""
    names = [f'"{name}"' for name in tables]
    relations = connection.execute(RELATIONS, [names]).fetchall()
    total_mb = sum(size for _, size, _ in relations) / 1e6
    text = f"{len(relations)} tables and indexes ({total_mb:.1f} MB)"
    if _can_prewarm(connection):
        for oid, _, _ in relations:
            connection.execute("select pg_prewarm(%s::oid::regclass)", [oid])
        return f"read {text} into the server's buffers with pg_prewarm"
    for _, _, path in relations:
        _read(_data_folder(connection), path)
    return f"read {text} into the page cache: this server has no pg_prewarm"


def _can_prewarm(connection: Connection) -> bool:
    query = "select 1 from pg_available_extensions where name = 'pg_prewarm'"
    if connection.execute(query).fetchone() is None:
        return False
    connection.execute("create extension if not exists pg_prewarm")
    return True


def _data_folder(connection: Connection) -> Path:
    row = connection.execute("select current_setting('data_directory')").fetchone()
    assert row is not None  # a select of one value returns one row
    return Path(row[0])


def _read(folder: Path, relation: str) -> None:
    """Read a relation, which consists of files of one gigabyte: ``NODE``, ``NODE.1`` and so on."""
    first = folder / relation
    for path in (first, *first.parent.glob(f"{first.name}.[0-9]*")):
        with path.open("rb", buffering=0) as file:
            while file.read(CHUNK_BYTES):
                pass
