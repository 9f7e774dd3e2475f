"""PostgreSQL by psqlODBC, for trying ODBC: its own protocol is faster and has telemetry."""

from dbdyno.databases.odbc.adapter import behind_odbc
from dbdyno.databases.odbc.catalog import Catalog
from dbdyno.databases.postgresql.column_types import word_of
from dbdyno.databases.postgresql.dialect import PostgresqlDialect
from dbdyno.databases.standard import StandardDialect

CATALOG = Catalog(
    tables="""
        select relname, obj_description(oid, 'pg_class') from pg_class
        where relkind = 'r' and relname in ({names}) and pg_table_is_visible(oid)""",
    columns="""
        select relname, attname, format_type(atttypid, atttypmod)
        from pg_attribute join pg_class c on c.oid = attrelid
        where relname in ({names}) and pg_table_is_visible(c.oid)
            and attnum > 0 and not attisdropped
        order by attnum""",
    keys="""
        select c.relname, case when indisprimary then '' else k.relname end, a.attname
        from pg_index i join pg_class c on c.oid = indrelid join pg_class k on k.oid = indexrelid
        join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
        where indisunique and indpred is null and indexprs is null and c.relname in ({names})
            and pg_table_is_visible(c.oid)
        order by array_position(i.indkey::int2[], a.attnum)""",
    word_of=word_of,
)


class Dialect(PostgresqlDialect):
    """PostgreSQL's own dialect, except for how rows are loaded."""

    fill = StandardDialect.fill
    can_fill_frozen = StandardDialect.can_fill_frozen  # only COPY can


ADAPTER = behind_odbc(
    "odbc_postgresql",
    "PostgreSQL by ODBC",
    dialect=Dialect(),
    find_tables=CATALOG.finder(),
    snapshot="begin isolation level repeatable read, read only",
)
