"""The schema of a PostgreSQL database, for a run's record: reads the catalogs, and only those.

Objects of extensions are left out: their version stands for them. So is what a partition has from
its table.
"""

from collections.abc import Sequence

from psycopg import Connection

from dbdyno.databases.postgresql.names import table_name
from dbdyno.databases.script_text import names
from dbdyno.model.recorded_schema import (
    ROUTINES_MAX,
    TABLES_MAX,
    RecordedSchema,
    recorded_schema as recorded,
)

# Functions that print definitions take locks: a table that is being altered must not hold up a run.
CAUTION = "set local lock_timeout to '500ms'", "set local statement_timeout to '10s'"

_OWN = """n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
        and not exists (select from pg_depend d where d.objid = {oid} and d.deptype = 'e'
            and d.classid = '{catalog}'::regclass)"""

TABLES = f"""
    select c.oid::int8, {table_name("n.nspname", "c.relname")},
        case when c.relkind = 'v' then 'view: ' || pg_get_viewdef(c.oid)
            when c.relkind = 'm' then 'materialized view: ' || pg_get_viewdef(c.oid)
            when c.relkind = 'f' then 'foreign table'
            when c.relispartition then 'partition of ' || (
                    select inhparent::regclass::text from pg_inherits where inhrelid = c.oid)
                || ' ' || coalesce(pg_get_expr(c.relpartbound, c.oid), '')
            when c.relpersistence = 'u' then 'unlogged table'
            else 'table' end
        || coalesce(' partitioned by ' || pg_get_partkeydef(c.oid), '')
        || coalesce(' using ' || (
            select amname from pg_am a where a.oid = c.relam and amname <> 'heap'), '')
        || coalesce(' with (' || array_to_string(c.reloptions, ', ') || ')', '')
        || coalesce(' with toast (' || (
            select array_to_string(t.reloptions, ', ')
            from pg_class t where t.oid = c.reltoastrelid) || ')', '')
        || coalesce(' in tablespace ' || (
            select spcname from pg_tablespace s where s.oid = c.reltablespace), '')
        || case when c.relrowsecurity then ' with row security' else '' end,
        count(*) over ()
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and {_OWN.format(oid="c.oid", catalog="pg_class")}
    order by c.relname = any(%s::text[]) desc, c.relispartition, 2
    limit {TABLES_MAX}"""

_WANTED = "any(%s::oid[])"
PARTS = (
    f"""
    select a.attrelid::int8, 'column ' || a.attname,
        format_type(a.atttypid, a.atttypmod)
        || coalesce((select ' collate ' || collname from pg_collation o
            where o.oid = a.attcollation and a.attcollation <> t.typcollation), '')
        || case when a.attnotnull then ' not null' else '' end
        || case a.attidentity when '' then '' else ' generated as identity' end
        || case a.attgenerated when '' then coalesce(
                ' default ' || pg_get_expr(d.adbin, d.adrelid), '')
            else ' generated as ' || pg_get_expr(d.adbin, d.adrelid) end
        || case when a.attstattarget >= 0 then ' statistics ' || a.attstattarget else '' end
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_type t on t.oid = a.atttypid
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = {_WANTED} and a.attnum > 0 and not a.attisdropped and not c.relispartition
        and c.relkind <> 'v'""",
    f"""
    select i.indrelid::int8, 'index ' || c.relname,
        case when i.indisprimary then 'primary key ' when i.indisunique then 'unique ' else '' end
        || regexp_replace(pg_get_indexdef(c.oid), '^.*? USING ', '')
        || case when i.indisvalid then '' else ' (invalid)' end
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = {_WANTED} and not c.relispartition""",
    f"""
    select conrelid::int8, 'constraint ' || conname, pg_get_constraintdef(oid)
    from pg_constraint where conrelid = {_WANTED} and contype in ('c', 'f', 'x') and conislocal""",
    f"""
    select t.tgrelid::int8, 'trigger ' || t.tgname,
        regexp_replace(pg_get_triggerdef(t.oid), '^CREATE (CONSTRAINT )?TRIGGER ', '')
        || case when t.tgenabled = 'D' then ' (disabled)' else '' end
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where t.tgrelid = {_WANTED} and not t.tgisinternal and not c.relispartition""",
    f"""
    select stxrelid::int8, 'statistics ' || stxname, pg_get_statisticsobjdef(oid)
    from pg_statistic_ext where stxrelid = {_WANTED}""",
)

ROUTINES = f"""
    select {table_name("n.nspname", "p.proname")}
        || '(' || pg_get_function_identity_arguments(p.oid) || ')',
        case when p.prokind in ('f', 'p') then pg_get_functiondef(p.oid) else 'aggregate' end,
        count(*) over ()
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where {_OWN.format(oid="p.oid", catalog="pg_proc")}
    order by p.proname = any(%s::text[]) desc, 1
    limit {ROUTINES_MAX}"""


def recorded_schema(connection: Connection, texts: Sequence[str]) -> RecordedSchema:
    """Return the schema; what the statements in ``texts`` name comes first."""
    words = [sorted({name for text in texts for name in names(text, "postgresql")})]
    with connection.transaction():
        for setting in CAUTION:
            connection.execute(setting)
        tables = connection.execute(TABLES.encode(), words).fetchall()
        routines = connection.execute(ROUTINES.encode(), words).fetchall()
        called = {oid: name for oid, name, _, _ in tables}
        parts = [
            (called[oid], part, definition)
            for query in PARTS
            for oid, part, definition in connection.execute(query.encode(), [[*called]])
        ]
    return recorded(
        [(name, definition) for _, name, definition, _ in tables],
        parts,
        [(name, definition) for name, definition, _ in routines],
        sum(rows[0][-1] - len(rows) for rows in (tables, routines) if rows),
    )
