"""MariaDB and MySQL by ODBC, for trying ODBC: their own protocol is faster and has telemetry."""

from dbdyno.targets.mysql.column_types import CANONICAL_TYPES
from dbdyno.targets.mysql.dialect import MysqlDialect
from dbdyno.targets.odbc.catalog import Catalog
from dbdyno.targets.odbc.dialect import insert
from dbdyno.targets.odbc.target import behind_odbc
from dbdyno.targets.schema import Table

CATALOG = Catalog(
    tables="""
        select table_name, table_comment from information_schema.tables
        where table_schema = database() and table_type = 'BASE TABLE'
            and table_name in ({names})""",
    # Some versions add a meaningless width to integers.
    columns="""
        select table_name, column_name,
            case when data_type like '%int' then data_type else lower(column_type) end
        from information_schema.columns
        where table_schema = database() and table_name in ({names}) order by ordinal_position""",
    keys="""
        select table_name, column_name from information_schema.key_column_usage
        where table_schema = database() and constraint_name = 'PRIMARY'
            and table_name in ({names})
        order by ordinal_position""",
    types=CANONICAL_TYPES,
)


class Dialect(MysqlDialect):
    """Their own dialect, except for how rows are loaded."""

    def fill(self, table: Table, *, frozen: bool) -> str:
        """Return an INSERT whose parameters are arrays."""
        assert not frozen
        return insert(table)


TARGET = behind_odbc(
    "odbc_mysql",
    "MariaDB and MySQL by ODBC",
    dialect=Dialect(),
    find_tables=CATALOG.finder(),
    snapshot="start transaction with consistent snapshot, read only",
)
