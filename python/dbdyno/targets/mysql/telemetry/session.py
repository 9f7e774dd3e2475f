"""The connection that telemetry has to itself: made quiet, so that it stands in nobody's way."""

from pathlib import Path

from dbdyno.targets.connection import Connection
from dbdyno.targets.mysql.telemetry.server_context import server_context

QUIET = (
    "set session transaction read only",
    "set session transaction isolation level read committed",
    "set session lock_wait_timeout = 1",
    "set session innodb_lock_wait_timeout = 1",
)
# Either ends our own question after a second.
PATIENCE_MARIADB = "set session max_statement_time = 1"
PATIENCE_MYSQL = "set session max_execution_time = 1000"

# A pool's thread serves now this session, now that.
ALONE = "@@global.thread_handling = 'one-thread-per-connection'"
TASKS_MARIADB = f"select id, tid from information_schema.processlist where {ALONE}"
TASKS_MYSQL = f"""
    select processlist_id, thread_os_id from performance_schema.threads
    where processlist_id is not null and {ALONE}"""

LOG = "select @@global.log_error, @@global.datadir"
NOT_A_FILE = ("", "stderr")


def begin(connection: Connection) -> None:
    """Readies a connection of telemetry's own."""
    patience = PATIENCE_MARIADB if server_context(connection).is_mariadb else PATIENCE_MYSQL
    for setting in (*QUIET, patience):
        connection.execute(setting)


def pid(connection: Connection) -> int:
    """The number of this connection, which the server gives it."""
    (number,) = connection.execute("select connection_id()").fetchone()
    return int(number)


def task(connection: Connection) -> int | None:
    """The kernel's number of the thread that serves it, and nothing else; only some tell."""
    return tasks(connection).get(pid(connection))


def tasks(connection: Connection) -> dict[int, int]:
    """The kernel's numbers of the threads that each serve one of the sessions that we may see."""
    context = server_context(connection)
    if not context.is_mariadb and not context.has_schema:
        return {}
    question = TASKS_MARIADB if context.is_mariadb else TASKS_MYSQL
    rows = connection.execute(question).fetchall()
    return {int(session): int(task) for session, task in rows if task}


def log_path(connection: Connection) -> Path | None:
    """The error log; None where the server writes to where it was started from."""
    name, folder = connection.execute(LOG).fetchone()
    return None if (name or "") in NOT_A_FILE else Path(folder, name)
