"""MariaDB 10.6 and later, MySQL 8.0 and later: one target; the servers report which they are."""

from dbdyno.databases.adapter import Adapter
from dbdyno.databases.mysql.connections import free_connections
from dbdyno.databases.mysql.describe import describe, refuses_writes
from dbdyno.databases.mysql.dialect import MysqlDialect
from dbdyno.databases.mysql.load_fallback import load_fallback
from dbdyno.databases.mysql.maintenance import checkpoint, lift_time_limits, one_instant, settle
from dbdyno.databases.mysql.parameters import parameters
from dbdyno.databases.mysql.recorded_schema import recorded_schema
from dbdyno.databases.mysql.server_errors import DISK_FULL_CODES, understood
from dbdyno.databases.mysql.tables import find_tables
from dbdyno.databases.mysql.telemetry import TELEMETRY

ADAPTER = Adapter(
    name="mysql",
    title="MariaDB and MySQL",
    dialect=MysqlDialect(),
    storage=frozenset({"partitions", "partition_method", "foreign_keys"}),
    describe=describe,
    find_tables=find_tables,
    settle=settle,
    checkpoint=checkpoint,
    free_connections=free_connections,
    one_instant=one_instant,
    understood=understood,
    lift_time_limits=lift_time_limits,
    refuses_writes=refuses_writes,
    recorded_schema=recorded_schema,
    telemetry=TELEMETRY,
    load_fallback=load_fallback,
    parameters=parameters,
    relates_partitions=False,
    disk_full_codes=DISK_FULL_CODES,
)
