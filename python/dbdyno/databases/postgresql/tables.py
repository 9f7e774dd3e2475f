"""Finds existing tables in the catalog, in the terms of ``databases.schema``."""

from collections.abc import Sequence
from typing import Any

from psycopg import Connection
from psycopg.rows import dict_row

from dbdyno.databases.postgresql.column_types import word_of
from dbdyno.databases.schema import (
    ForeignKey,
    FoundColumn,
    FoundTable,
    Partitioning,
    PartitionMethod,
)

METHODS: dict[str, PartitionMethod] = {"r": "range", "h": "hash"}

# A partitioned table stores nothing: its storage options are those of its first partition.
TABLES = """
    select c.relname as name, c.relkind in ('r', 'p') as is_table, storing.reloptions as options,
        storing.relpersistence = 'u' as unlogged, p.partstrat as method,
        (select string_agg(attname, ', ' order by place)
            from unnest(p.partattrs) with ordinality as key(number, place)
            join pg_attribute on attrelid = c.oid and attnum = number) as partitioned_by,
        (select count(*) from pg_inherits where inhparent = c.oid) as partitions,
        coalesce(obj_description(c.oid, 'pg_class'), '') as comment,
        array(select format('%%s|%%s', attname, format_type(atttypid, atttypmod))
            from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped
            order by attnum) as columns,
        (select coalesce(json_agg(json_build_array(i.indisprimary, i.indisunique, array(
                select attname from unnest(i.indkey) with ordinality as key(number, place)
                join pg_attribute on attrelid = c.oid and attnum = number order by place))), '[]')
            from pg_index i
            where i.indrelid = c.oid and i.indpred is null and i.indexprs is null
        ) as indexes,
        (select coalesce(json_agg(json_build_array(
                array(select attname from unnest(k.conkey) with ordinality as key(number, place)
                    join pg_attribute on attrelid = c.oid and attnum = number order by place),
                k.confrelid::regclass::text,
                array(select attname from unnest(k.confkey) with ordinality as key(number, place)
                    join pg_attribute on attrelid = k.confrelid and attnum = number
                    order by place))), '[]')
            from pg_constraint k
            where k.conrelid = c.oid and k.contype = 'f' and k.conparentid = 0) as foreign_keys
    from unnest(%s::text[]) as wanted(name)
    join pg_class c on c.oid = to_regclass(wanted.name)
    left join pg_partitioned_table p on p.partrelid = c.oid
    join pg_class storing on storing.oid = coalesce(
        (select min(inhrelid) from pg_inherits where inhparent = c.oid), c.oid)"""


def find_tables(connection: Connection, names: Sequence[str]) -> dict[str, FoundTable]:
    """Return those of the named tables that exist on the search path."""
    with connection.cursor(row_factory=dict_row) as cursor:
        rows = cursor.execute(TABLES, [list(names)]).fetchall()
    return {row["name"]: _found(row) for row in rows}


def _found(row: dict[str, Any]) -> FoundTable:
    indexes = [(*kind, tuple(columns)) for *kind, columns in row["indexes"]]
    return FoundTable(
        name=row["name"],
        is_table=row["is_table"],
        columns=tuple(_column(text) for text in row["columns"]),
        primary_key=next((columns for is_primary, _, columns in indexes if is_primary), ()),
        unique_keys=frozenset(
            columns for is_primary, is_unique, columns in indexes if is_unique and not is_primary
        ),
        indexes=frozenset(columns for _, is_unique, columns in indexes if not is_unique),
        foreign_keys=frozenset(
            ForeignKey(tuple(columns), references, tuple(referenced))
            for columns, references, referenced in row["foreign_keys"]
        ),
        fillfactor=_fillfactor(row["options"] or []),
        unlogged=row["unlogged"],
        partitioning=_partitioning(row),
        comment=row["comment"],
    )


def _partitioning(row: dict[str, Any]) -> Partitioning | None:
    """Return how the rows are divided; an expression counts as a column without a name."""
    method = METHODS.get(row["method"])
    return Partitioning(method, row["partitioned_by"] or "", row["partitions"]) if method else None


def _column(text: str) -> FoundColumn:
    name, _, catalog_type = text.partition("|")
    return FoundColumn(name=name, sql_type=word_of(catalog_type))


def _fillfactor(options: list[str]) -> int | None:
    values = [option.partition("=")[2] for option in options if option.startswith("fillfactor=")]
    return int(values[0]) if values else None
