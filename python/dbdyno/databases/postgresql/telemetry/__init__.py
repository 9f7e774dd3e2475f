"""Telemetry of a PostgreSQL server: cheap queries on a connection of its own.

With a hundred tables, the sources that are read every second took 3 ms on a server of version 12,
15 or 18 together, regardless of further tables.
"""

from dbdyno.databases.postgresql.telemetry.facts import facts
from dbdyno.databases.postgresql.telemetry.locks import conflicts
from dbdyno.databases.postgresql.telemetry.log import PostgresqlLog
from dbdyno.databases.postgresql.telemetry.processes import TASK_CLASSES
from dbdyno.databases.postgresql.telemetry.session import begin, log_path, pid, publish
from dbdyno.databases.postgresql.telemetry.session_sample import (
    sample_sessions,
    sample_with_locks,
)
from dbdyno.databases.postgresql.telemetry.sources import sources
from dbdyno.databases.telemetry import Telemetry

TELEMETRY = Telemetry(
    dialect="postgresql",
    begin=begin,
    sources=sources,
    sample_with_locks=sample_with_locks,
    sample_sessions=sample_sessions,
    conflicts=conflicts,
    facts=facts,
    log_reader=PostgresqlLog,
    log_path=log_path,
    pid=pid,
    task=pid,
    publish=publish,
    task_classes=TASK_CLASSES,
)
