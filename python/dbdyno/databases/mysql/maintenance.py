"""Maintenance: the same state before each run, reads at one instant, no limits on time."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dbdyno.databases.connection import Connection

# Either brand has one limit on the time of statements, and ignores the comment for the other.
UNLIMITED = """set @dbdyno_unlimited = 1
    /*M! , session max_statement_time = 0 */ /*!50708 , session max_execution_time = 0 */"""
# MySQL answers from numbers of up to a day ago (information_schema_stats_expiry, by default 86400
# seconds). MariaDB has no such variable, and ignores comments for the versions 5.7 to 9.
FRESH_STATISTICS = """set @dbdyno_fresh = 1
    /*!80003 , session information_schema_stats_expiry = 0 */"""
DIRTY_PAGES_FEW = 100  # the server itself constantly makes some
FLUSH_PATIENCE_S = 60
LOCK = "dbdyno_checkpoint"
IO_MAX = "innodb_io_capacity_max"
# While everything is written out, the server may use the disk as fast as it can.
FLUSHING = {
    "innodb_max_dirty_pages_pct_lwm": "0",
    "innodb_max_dirty_pages_pct": "0",
    IO_MAX: "20000",
    "innodb_io_capacity": "20000",
}
# Each after the one that limits it: the server reduces a value that is too high when it is set.
RESTORED = (
    "innodb_max_dirty_pages_pct",
    "innodb_max_dirty_pages_pct_lwm",
    IO_MAX,
    "innodb_io_capacity",
)


def settle(connection: Connection, tables: Sequence[str]) -> str:
    """Update the statistics, then write everything out. The server purges old rows itself."""
    names = ", ".join(f"`{table}`" for table in tables)
    connection.execute(f"analyze table {names}").fetchall()
    return checkpoint(connection)


def checkpoint(connection: Connection) -> str:
    """Write out the dirty pages, so that the next run does not pay for loading.

    There is no command for it: the server is set to keep none for as long as that takes. Only one
    command does this at a time: another would take the settings of that time for the server's own.
    Returns what is still to be written, or was not as it should be, in words.
    """
    lock = connection.execute(f"select get_lock('{LOCK}', {2 * FLUSH_PATIENCE_S})").fetchone()
    if lock[0] != 1:
        return "another command is writing out dirty pages: what comes next pays for that"
    left_over = _reset_left_over(connection)
    before = {name: _variable(connection, name) for name in FLUSHING}
    try:
        _set_all(connection, FLUSHING)
        return " ".join(filter(None, [left_over, _await_clean(connection)]))
    finally:
        if not connection.closed:  # an interrupt may have closed it
            _set_all(connection, {name: before[name] for name in RESTORED})
            connection.execute(f"select release_lock('{LOCK}')")


def _reset_left_over(connection: Connection) -> str:
    """Set the defaults if a command ended within :func:`checkpoint`; return a note of that."""
    values = {name: _variable(connection, name) for name in FLUSHING}
    if any(float(value) != float(FLUSHING[name]) for name, value in values.items()):
        return ""
    _set_all(connection, {name: "default" for name in RESTORED if name != IO_MAX})
    # The server's own rule at its start; its compiled default stands for "not set".
    _set_all(connection, {IO_MAX: "greatest(2000, 2 * @@global.innodb_io_capacity)"})
    return (
        f"{', '.join(RESTORED)} have their defaults now: an earlier command ended before it had "
        "restored them"
    )


def _set_all(connection: Connection, values: dict[str, str]) -> None:
    for name, value in values.items():
        connection.execute(f"set global {name} = {value}")


def _await_clean(connection: Connection) -> str:
    """Wait until the pages are written; return what is left at the timeout, in words."""
    deadline = time.monotonic() + FLUSH_PATIENCE_S
    while (dirty := _dirty_pages(connection)) > DIRTY_PAGES_FEW:
        if time.monotonic() >= deadline:
            return (
                f"after {FLUSH_PATIENCE_S} s the server still had {dirty} dirty pages: "
                "what comes next pays for writing them"
            )
        time.sleep(0.05)
    return ""


def _dirty_pages(connection: Connection) -> int:
    row = connection.execute("show global status like 'Innodb_buffer_pool_pages_dirty'").fetchone()
    return int(row[1])


def _variable(connection: Connection, name: str) -> str:
    return str(connection.execute(f"select @@global.{name}").fetchone()[0])


@contextmanager
def one_instant(connection: Connection) -> Iterator[None]:
    """Run the block so that all its reads see the same committed state."""
    connection.execute("set transaction isolation level repeatable read")
    connection.execute("start transaction with consistent snapshot, read only")
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute("rollback")  # nothing was written


def lift_time_limits(connection: Connection) -> None:
    """Lift those of the session."""
    connection.execute(UNLIMITED)
