"""Tables that statements use: size, fillfactor, width of rows, autovacuum settings, indexes."""

from collections.abc import Sequence
from typing import Any

from psycopg import Connection
from psycopg.rows import dict_row

from dbdyno.databases.postgresql.names import index_name, table_name
from dbdyno.model.telemetry import IndexFacts, TableFacts

FILLFACTOR = 100
_BEFORE_EACH_UPDATED_ROW = 1 | 2 | 16  # the bits of pg_trigger.tgtype

TABLES = f"""
    select c.oid::int8 as id, {table_name("n.nspname", "c.relname")} as name,
        case c.relkind when 'p' then (
                select coalesce(sum(greatest(part.reltuples, 0)), 0)
                from pg_partition_tree(c.oid) tree join pg_class part on part.oid = tree.relid
                where tree.isleaf)
            else greatest(c.reltuples, 0) end::float8 as rows,
        case when c.relispartition then (
                select {table_name("rn.nspname", "root.relname")}
                from pg_class root join pg_namespace rn on rn.oid = root.relnamespace
                where root.oid = pg_partition_root(c.oid))
            else '' end as partition_of,
        pg_relation_size(c.oid) as bytes,
        pg_relation_size(c.oid) / current_setting('block_size')::int as pages,
        (select option_value::int from pg_options_to_table(c.reloptions)
            where option_name = 'fillfactor') as fillfactor,
        (select json_object_agg(option_name, case option_name
                when 'autovacuum_enabled' then option_value::bool::text else option_value end)
            from pg_options_to_table(c.reloptions)
            where starts_with(option_name, 'autovacuum')) as autovacuum,
        (select sum(avg_width * (1 - null_frac))::float8 from pg_stats s
            where s.schemaname = n.nspname and s.tablename = c.relname
                and not s.inherited) as width,
        array(select attname::text from pg_attribute
            where attrelid = c.oid and attnum > 0 and not attisdropped order by attnum) as columns,
        array(
            select 'trigger ' || tgname from pg_trigger where tgrelid = c.oid
                and tgenabled in ('O', 'A') and (tgtype & {_BEFORE_EACH_UPDATED_ROW})
                    = {_BEFORE_EACH_UPDATED_ROW}
            union all
            select 'generated column ' || attname from pg_attribute a where attrelid = c.oid
                and attgenerated = 's' and exists (select from pg_index
                    where indrelid = c.oid and attnum = any(indkey))
            order by 1) as assigned_by
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.oid = any(%s::oid[]) order by name"""

# An index depends on the columns in its expressions and its predicate.
INDEXES = f"""
    select i.indrelid::int8 as table_id,
        {index_name("n.nspname", "t.relname", "c.relname")} as name,
        i.indisunique as is_unique, i.indisprimary as is_primary,
        pg_relation_size(c.oid) as bytes,
        case when i.indpred is not null and c.reltuples >= 0 and t.reltuples > 0
            then least(c.reltuples / t.reltuples, 1) else 1 end::float8 as rows_share,
        array(select attname::text from pg_attribute a
            where a.attrelid = i.indrelid and (a.attnum = any(i.indkey) or exists (
                select from pg_depend d
                where d.classid = 'pg_class'::regclass and d.objid = i.indexrelid
                    and d.refclassid = 'pg_class'::regclass and d.refobjid = i.indrelid
                    and d.refobjsubid = a.attnum)) and a.attnum > 0
            order by a.attnum) as columns
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
    join pg_namespace n on n.oid = t.relnamespace
    where i.indrelid = any(%s::oid[]) order by name"""


def table_facts(connection: Connection, oids: Sequence[int]) -> tuple[TableFacts, ...]:
    """Return the facts of these tables, ordered by name."""
    indexes = _rows(connection, INDEXES, oids)
    return tuple(
        _table(row, [index for index in indexes if index["table_id"] == row["id"]])
        for row in _rows(connection, TABLES, oids)
    )


def _rows(connection: Connection, query: str, oids: Sequence[int]) -> list[dict[str, Any]]:
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query.encode(), [list(oids)]).fetchall()


def _table(row: dict[str, Any], indexes: Sequence[dict[str, Any]]) -> TableFacts:
    return TableFacts(
        name=row["name"],
        rows=row["rows"],
        bytes=row["bytes"],
        pages=row["pages"],
        fillfactor=row["fillfactor"] or FILLFACTOR,
        row_bytes=row["width"],
        columns=tuple(row["columns"]),
        indexes=tuple(_index(index) for index in indexes),
        autovacuum=row["autovacuum"] or {},
        assigned_by=tuple(row["assigned_by"]),
        partition_of=row["partition_of"],
    )


def _index(row: dict[str, Any]) -> IndexFacts:
    return IndexFacts(
        name=row["name"],
        columns=tuple(row["columns"]),
        is_unique=row["is_unique"],
        is_primary=row["is_primary"],
        rows_share=row["rows_share"],
        bytes=row["bytes"],
    )
