"""PostgreSQL, version 12 and later."""

from dbdyno.databases.adapter import Adapter
from dbdyno.databases.postgresql.connections import free_connections
from dbdyno.databases.postgresql.describe import describe, refuses_writes
from dbdyno.databases.postgresql.dialect import PostgresqlDialect
from dbdyno.databases.postgresql.maintenance import (
    checkpoint,
    lift_time_limits,
    one_instant,
    settle,
)
from dbdyno.databases.postgresql.parameters import parameters
from dbdyno.databases.postgresql.recorded_schema import recorded_schema
from dbdyno.databases.postgresql.server_errors import understood
from dbdyno.databases.postgresql.tables import find_tables
from dbdyno.databases.postgresql.telemetry import TELEMETRY

ADAPTER = Adapter(
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
    disk_full_codes=frozenset({"53100"}),
)
