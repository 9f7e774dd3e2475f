"""Telemetry's own connection, configured so that it blocks nobody."""

from pathlib import Path

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.maintenance import FRESH_STATISTICS
from dbdyno.databases.mysql.telemetry.server_context import server_context

QUIET = (
    "set session transaction read only",
    "set session transaction isolation level read committed",
    "set session lock_wait_timeout = 1",
    "set session innodb_lock_wait_timeout = 1",
    FRESH_STATISTICS,
)
# Either ends our own query after a second.
PATIENCE_MARIADB = "set session max_statement_time = 1"
PATIENCE_MYSQL = "set session max_execution_time = 1000"

# A thread of a pool serves changing sessions.
ALONE = "@@global.thread_handling = 'one-thread-per-connection'"
TASKS_MARIADB = f"select id, tid from information_schema.processlist where {ALONE}"
TASKS_MYSQL = f"""
    select processlist_id, thread_os_id from performance_schema.threads
    where processlist_id is not null and {ALONE}"""

LOG = "select @@global.log_error, @@global.datadir"
NOT_A_FILE = ("", "stderr")


def begin(connection: Connection) -> None:
    """Prepare a connection of telemetry's own."""
    patience = PATIENCE_MARIADB if server_context(connection).is_mariadb else PATIENCE_MYSQL
    for setting in (*QUIET, patience):
        connection.execute(setting)


def pid(connection: Connection) -> int:
    """Return the server's ID of this connection."""
    # ProxySQL answers the bare question itself, by a number of its own.
    (number,) = connection.execute("select connection_id() + 0").fetchone()
    return int(number)


def task(connection: Connection) -> int | None:
    """Return the kernel's ID of the thread that serves only this connection, if it is known."""
    return tasks(connection).get(pid(connection))


def tasks(connection: Connection) -> dict[int, int]:
    """Return the kernel's IDs of the threads that serve one visible session each, by session ID."""
    context = server_context(connection)
    if not context.is_mariadb and not context.has_schema:
        return {}
    question = TASKS_MARIADB if context.is_mariadb else TASKS_MYSQL
    rows = connection.execute(question).fetchall()
    return {int(session): int(task) for session, task in rows if task}


def log_path(connection: Connection) -> Path | None:
    """Return the error log; None if the server writes to its standard error."""
    name, folder = connection.execute(LOG).fetchone()
    return None if (name or "") in NOT_A_FILE else Path(folder, name)
