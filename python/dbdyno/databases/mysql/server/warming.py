"""Reads InnoDB's tables and indexes into its buffer pool by counting along each index.

Warming the page cache would not help InnoDB, which bypasses it: only the server can do this.
"""

from collections.abc import Sequence

from dbdyno.databases.mysql.driver.connection import MysqlConnection
from dbdyno.databases.mysql.maintenance import FRESH_STATISTICS

INDEXES = """
select distinct table_name, index_name from information_schema.statistics
where table_schema = database() and table_name in %s
"""
BYTES = """
select coalesce(sum(data_length + index_length), 0) from information_schema.tables
where table_schema = database() and table_name in %s
"""


def warm(connection: MysqlConnection, tables: Sequence[str]) -> str:
    """Read each index of the tables once, including the clustered one with the rows."""
    if not tables:
        return "nothing to warm up: the workload has no tables"
    indexes = connection.execute(INDEXES, [tuple(tables)]).fetchall()
    indexed = {table for table, _ in indexes}
    for table, index in indexes:
        connection.execute(f"select count(*) from `{table}` force index (`{index}`)")
    for table in set(tables) - indexed:
        connection.execute(f"select count(*) from `{table}`")
    connection.execute(FRESH_STATISTICS)
    row = connection.execute(BYTES, [tuple(tables)]).fetchone()
    assert row is not None  # an aggregate returns one row
    count = len(indexes) + len(set(tables) - indexed)
    return f"read {count} tables and indexes ({float(row[0]) / 1e6:.1f} MB) into the buffer pool"
