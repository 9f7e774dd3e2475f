"""MariaDB 10.6 and later, MySQL 8.0 and later: one target; the servers report which they are."""

from dbdyno.targets.base import Target
from dbdyno.targets.mysql.connections import free_connections
from dbdyno.targets.mysql.describe import describe, refuses_writes
from dbdyno.targets.mysql.dialect import MysqlDialect
from dbdyno.targets.mysql.load_fallback import load_fallback
from dbdyno.targets.mysql.maintenance import checkpoint, one_instant, settle
from dbdyno.targets.mysql.parameters import parameters
from dbdyno.targets.mysql.recorded_schema import recorded_schema
from dbdyno.targets.mysql.server_errors import understood
from dbdyno.targets.mysql.tables import find_tables
from dbdyno.targets.mysql.telemetry import TELEMETRY
from dbdyno.targets.mysql.time_limits import lift_time_limits

TARGET = Target(
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
)
