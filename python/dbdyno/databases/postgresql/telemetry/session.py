"""Telemetry's own connection, configured to block nobody and to differ from the load.

It reads, and gives up early so as not to delay anybody. Only settings that the server has and the
role may change are set, so that one statement serves all versions; behind a pooler, nothing is set.
"""

from contextlib import suppress
from pathlib import Path

from psycopg import errors

from dbdyno.databases.postgresql.driver.connection import PostgresqlConnection

APPLICATION_NAME = "dbdyno telemetry"
_KEEPS_COUNTS_BACK_SINCE = 150000

SETTINGS = {
    "application_name": APPLICATION_NAME,
    "default_transaction_read_only": "on",
    "statement_timeout": "1s",
    "lock_timeout": "100ms",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "plan_cache_mode": "force_generic_plan",  # the same few queries are repeated
    "enable_sort": "off",  # sorting by ten texts costs more than hashing them
    "stats_fetch_consistency": "none",  # each reading shows the present (15 and later)
    "pg_stat_statements.track": "none",  # our queries are not those of the load
}

SET = """
    select set_config(s.name, wanted.value, false)
    from unnest(%s::text[], %s::text[]) wanted(name, value)
    join pg_settings s on s.name = wanted.name
    where s.context = 'user' or (select rolsuper from pg_roles where rolname = current_user)"""

# The GNU C library returns freed memory to the kernel at once, until a large piece has been
# allocated and freed. Otherwise a sample of 500 sessions would take 200 new pages each time, a
# fifth of its cost.
KEEP_MEMORY = f"select length(repeat(' ', {4 * 1024 * 1024}))"


def begin(connection: PostgresqlConnection) -> None:
    """Prepare a connection of telemetry's own.

    A pooler lends a session for one transaction, and its next user may be a client of the load: the
    settings would apply to it, too, and it could no longer write.
    """
    if not connection.is_lent:
        connection.execute(SET, [list(SETTINGS), list(SETTINGS.values())])
        connection.execute(KEEP_MEMORY)


def publish(connection: PostgresqlConnection) -> None:
    """Publish the counts of this session's work.

    Since version 15 an idle session holds back up to a second's counts for ten seconds. Before,
    they are published with its next statement.
    """
    if connection.info.server_version >= _KEEPS_COUNTS_BACK_SINCE:
        with suppress(errors.InsufficientPrivilege):
            connection.execute("select pg_stat_force_next_flush()")


def pid(connection: PostgresqlConnection) -> int:
    """Return the server's process ID of this connection, as the server knows it."""
    row = connection.execute("select pg_backend_pid()").fetchone()
    assert row is not None  # a select of one value returns one row
    number: int = row[0]
    return number


def log_path(connection: PostgresqlConnection) -> Path | None:
    """Return the log of the server's collector; None without one, or without the right to know.

    If the server writes several formats, it names the text format first.
    """
    query = "select current_setting('data_directory'), pg_current_logfile()"
    try:
        row = connection.execute(query).fetchone()
    except errors.InsufficientPrivilege:
        return None
    return Path(row[0], row[1]) if row and row[1] else None
