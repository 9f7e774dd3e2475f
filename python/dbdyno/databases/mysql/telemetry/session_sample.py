"""Samples a MariaDB or MySQL server: its sessions and, if one of them waits, the locks.

MariaDB's locks are in the same snapshot as its transactions and are read with them; MySQL's locks,
and metadata locks, are queried only if a session waits.
"""

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.telemetry.combined_query import Part, query_parts
from dbdyno.databases.mysql.telemetry.locks import DEFINITIONS, LOCKS_MARIADB, LOCKS_MYSQL, locks_of
from dbdyno.databases.mysql.telemetry.server_context import ServerContext, server_context
from dbdyno.databases.mysql.telemetry.sessions import (
    LISTED,
    LISTED_BY_SCHEMA,
    LISTED_WITH_TASKS,
    WAITS,
    sessions_of,
)
from dbdyno.databases.mysql.telemetry.transactions import TRANSACTIONS
from dbdyno.databases.telemetry import Locks, PendingSample, Sessions

LOCK = "Lock"


def sample_with_locks(connection: Connection) -> PendingSample:
    """Return all sessions but our own, and the locks involved in waiting."""
    sample = _sample(connection)
    return lambda: sample


def _sample(connection: Connection) -> tuple[list[Sessions], list[Locks]]:
    context = server_context(connection)
    rows = query_parts(connection, _parts(context))
    sessions = sessions_of(rows["session"], rows["transaction"], rows["wait"])
    if not any(its.wait_type == LOCK for its in sessions):
        return sessions, []
    more = query_parts(connection, _lock_parts(context))
    return sessions, locks_of(context.database, [*rows["lock"], *more["lock"]], more["definition"])


def _parts(context: ServerContext) -> dict[str, Part]:
    """Return the parts that every sample queries."""
    by_list = LISTED_WITH_TASKS if context.is_mariadb else LISTED
    parts = {"session": LISTED_BY_SCHEMA if context.has_schema else by_list}
    if context.has_waits:
        parts["wait"] = WAITS
    if context.sees_all:
        parts["transaction"] = TRANSACTIONS
        if context.is_mariadb:
            parts["lock"] = LOCKS_MARIADB
    return parts


def _lock_parts(context: ServerContext) -> dict[str, Part]:
    """Return the parts that are queried once a session waits."""
    parts = {}
    if context.has_schema and not context.is_mariadb:
        parts["lock"] = LOCKS_MYSQL
    if context.has_definitions:
        parts["definition"] = DEFINITIONS
    return parts
