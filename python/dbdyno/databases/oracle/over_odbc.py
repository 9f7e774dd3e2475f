"""Oracle 12.2 and later by its ODBC driver. Written from the manual; never run on a server."""

from dbdyno.databases.odbc.adapter import behind_odbc
from dbdyno.databases.odbc.catalog import Catalog
from dbdyno.databases.oracle.column_types import word_of
from dbdyno.databases.oracle.dialect import OracleDialect

# Oracle stores unquoted names in capitals.
CATALOG = Catalog(
    tables="""
        select lower(t.table_name), c.comments
        from user_tables t left join user_tab_comments c on c.table_name = t.table_name
        where lower(t.table_name) in ({names})""",
    columns="""
        select lower(table_name), lower(column_name),
            case data_type
                when 'NUMBER' then 'number(' || data_precision ||
                    case when data_scale > 0 then ',' || data_scale end || ')'
                when 'CHAR' then 'char(' || char_length || ')'
                when 'VARCHAR2' then 'varchar2(' || char_length || ')'
                else lower(data_type)
            end
        from user_tab_columns where lower(table_name) in ({names}) order by column_id""",
    keys="""
        select lower(c.table_name),
            case c.constraint_type when 'P' then '' else lower(c.constraint_name) end,
            lower(k.column_name)
        from user_constraints c join user_cons_columns k on k.constraint_name = c.constraint_name
        where c.constraint_type in ('P', 'U') and lower(c.table_name) in ({names})
        order by k.position""",
    word_of=word_of,
)

ADAPTER = behind_odbc(
    "odbc_oracle", "Oracle by ODBC", dialect=OracleDialect(), find_tables=CATALOG.finder()
)
