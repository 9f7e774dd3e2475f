"""Telemetry of a PostgreSQL server: cheap queries on a connection of its own.

With a hundred tables, the sources that are read every second took 3 ms on a server of version 12,
15 or 18 together, regardless of further tables.
"""

from dbdyno.targets.postgresql.facts import facts
from dbdyno.targets.postgresql.log import PostgresqlLog
from dbdyno.targets.postgresql.telemetry.locks import conflicts
from dbdyno.targets.postgresql.telemetry.session import begin, log_path, pid, publish
from dbdyno.targets.postgresql.telemetry.session_sample import (
    sample_sessions,
    sample_with_locks,
)
from dbdyno.targets.postgresql.telemetry.sources import sources
from dbdyno.targets.telemetry import Telemetry

TELEMETRY = Telemetry(
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
)
