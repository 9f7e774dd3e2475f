"""Oracle 12.2 and later by its ODBC driver. Written from the manual; never run on a server."""

from dbdyno.targets.odbc.catalog import Catalog
from dbdyno.targets.odbc.target import behind_odbc
from dbdyno.targets.odbc_oracle.dialect import OracleDialect

# Oracle stores unquoted names in capitals.
CATALOG = Catalog(
    tables="""
        select lower(t.table_name), c.comments
        from user_tables t left join user_tab_comments c on c.table_name = t.table_name
        where lower(t.table_name) in ({names})""",
    columns="""
        select lower(table_name), lower(column_name),
            case data_type
                when 'NUMBER' then 'number(' || data_precision || ')'
                when 'CHAR' then 'char(' || char_length || ')'
                when 'VARCHAR2' then 'varchar2(' || char_length || ')'
                else lower(data_type)
            end
        from user_tab_columns where lower(table_name) in ({names}) order by column_id""",
    keys="""
        select lower(c.table_name), lower(k.column_name)
        from user_constraints c join user_cons_columns k on k.constraint_name = c.constraint_name
        where c.constraint_type = 'P' and lower(c.table_name) in ({names}) order by k.position""",
    types={
        "number(10)": "int",
        "number(19)": "bigint",
        "varchar2(4000)": "text",
        "timestamp(6)": "timestamp",
        "timestamp(6) with time zone": "timestamptz",
    },
)

TARGET = behind_odbc(
    "odbc_oracle", "Oracle by ODBC", dialect=OracleDialect(), find_tables=CATALOG.finder()
)
