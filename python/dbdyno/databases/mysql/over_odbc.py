"""MariaDB and MySQL by ODBC, for trying ODBC: their own protocol is faster and has telemetry."""

from dbdyno.databases.mysql.column_types import word_of
from dbdyno.databases.mysql.dialect import MysqlDialect
from dbdyno.databases.odbc.adapter import behind_odbc
from dbdyno.databases.odbc.catalog import Catalog
from dbdyno.databases.standard import StandardDialect

CATALOG = Catalog(
    tables="""
        select table_name, table_comment from information_schema.tables
        where table_schema = database() and table_type = 'BASE TABLE'
            and table_name in ({names})""",
    columns="""
        select table_name, column_name, column_type from information_schema.columns
        where table_schema = database() and table_name in ({names}) order by ordinal_position""",
    keys="""
        select table_name, case constraint_name when 'PRIMARY' then '' else constraint_name end,
            column_name
        from information_schema.key_column_usage
        where table_schema = database() and referenced_table_name is null
            and table_name in ({names})
        order by ordinal_position""",
    word_of=word_of,
)


class Dialect(MysqlDialect):
    """Their own dialect, except for how rows are loaded."""

    fill = StandardDialect.fill


ADAPTER = behind_odbc(
    "odbc_mysql",
    "MariaDB and MySQL by ODBC",
    dialect=Dialect(),
    find_tables=CATALOG.finder(),
    snapshot="start transaction with consistent snapshot, read only",
)
