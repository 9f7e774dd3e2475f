"""The connection that telemetry has to itself: made quiet, and told apart from the load.

It reads, and gives up early rather than stand in anybody's way. Of what it sets, only what
the server knows and the role may set is set, so that one statement serves all versions; and
behind a pooler nothing is.
"""

from contextlib import suppress
from pathlib import Path

from psycopg import Connection, errors

APPLICATION_NAME = "dbdyno telemetry"
_KEEPS_COUNTS_BACK_SINCE = 150000

SETTINGS = {
    "application_name": APPLICATION_NAME,
    "default_transaction_read_only": "on",
    "statement_timeout": "1s",
    "lock_timeout": "100ms",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "plan_cache_mode": "force_generic_plan",  # the same few queries again and again
    "enable_sort": "off",  # sorting by ten words is dearer than hashing them
    "stats_fetch_consistency": "none",  # each reading is of now (15 and later)
    "pg_stat_statements.track": "none",  # our queries are not the load's
}

SET = """
    select set_config(s.name, wanted.value, false)
    from unnest(%s::text[], %s::text[]) wanted(name, value)
    join pg_settings s on s.name = wanted.name
    where s.context = 'user' or (select rolsuper from pg_roles where rolname = current_user)"""

# The GNU C library gives freed memory back to the kernel at once, until it has seen a large
# piece come and go. A sample of 500 sessions would take 200 pages anew each time: a fifth of it.
KEEP_MEMORY = f"select length(repeat(' ', {4 * 1024 * 1024}))"


def begin(connection: Connection) -> None:
    """Readies a connection of telemetry's own.

    A pooler lends a session for one transaction, and the next to have it may be a client of the
    load: what was set would hold for it, too, and it could write no more.
    """
    if connection.info.backend_pid == pid(connection):
        connection.execute(SET, [list(SETTINGS), list(SETTINGS.values())])
        connection.execute(KEEP_MEMORY)


def publish(connection: Connection) -> None:
    """Since 15 a session that idles keeps up to a second's counts back, for ten seconds.

    Before, they come with its next statement.
    """
    if connection.info.server_version >= _KEEPS_COUNTS_BACK_SINCE:
        with suppress(errors.InsufficientPrivilege):
            connection.execute("select pg_stat_force_next_flush()")


def pid(connection: Connection) -> int:
    """The server's process of this connection, as the server knows it."""
    row = connection.execute("select pg_backend_pid()").fetchone()
    assert row is not None  # a select of one value gives one row
    number: int = row[0]
    return number


def log_path(connection: Connection) -> Path | None:
    """The log that the server's collector writes; None without one, or without the right to know.

    Text is what the server names first, where it writes several formats.
    """
    query = "select current_setting('data_directory'), pg_current_logfile()"
    try:
        row = connection.execute(query).fetchone()
    except errors.InsufficientPrivilege:
        return None
    return Path(row[0], row[1]) if row and row[1] else None
