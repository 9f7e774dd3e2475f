"""PostgreSQL, version 12 and later."""

from dbdyno.targets.base import Target
from dbdyno.targets.postgresql.connections import free_connections
from dbdyno.targets.postgresql.describe import describe, refuses_writes
from dbdyno.targets.postgresql.dialect import PostgresqlDialect
from dbdyno.targets.postgresql.maintenance import checkpoint, one_instant, settle
from dbdyno.targets.postgresql.parameters import parameters
from dbdyno.targets.postgresql.recorded_schema import recorded_schema
from dbdyno.targets.postgresql.server_errors import understood
from dbdyno.targets.postgresql.tables import find_tables
from dbdyno.targets.postgresql.telemetry import TELEMETRY
from dbdyno.targets.postgresql.time_limits import lift_time_limits

TARGET = Target(
    name="postgresql",
    title="PostgreSQL",
    dialect=PostgresqlDialect(),
    storage=frozenset({"fillfactor", "unlogged", "partitions", "partition_method", "foreign_keys"}),
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
    parameters=parameters,
)
