"""Maintenance: the same state before each run, reads at one instant, no limits on time."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from psycopg import Connection, sql

# A pooler, which announces process numbers of its own, lends the session to others: their limits
# stay as they are.
UNLIMITED_SESSION = """
    select set_config(name, '0', false)
    from pg_settings
    where name in (
            'statement_timeout', 'transaction_timeout',
            'idle_session_timeout', 'idle_in_transaction_session_timeout'
        )
        and pg_backend_pid() = %s"""
# PostgreSQL 17 has the second one.
UNLIMITED_TRANSACTION = """select set_config(name, '0', true)
    from pg_settings where name in ('statement_timeout', 'transaction_timeout')"""


def settle(connection: Connection, tables: Sequence[str]) -> str:
    """Vacuum the dead rows left by the run before, then write everything out."""
    for table in tables:
        connection.execute(sql.SQL("vacuum (analyze) {}").format(sql.Identifier(table)))
    return checkpoint(connection)


def checkpoint(connection: Connection) -> str:
    """Write out all dirty pages, so that the next run does not pay for loading."""
    connection.execute("checkpoint")
    return ""  # it returns when everything is written


@contextmanager
def one_instant(connection: Connection) -> Iterator[None]:
    """Run the block so that all its reads see the same committed state.

    A policy that hides rows from the role makes a read fail, instead of changing its result.
    """
    with connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        connection.execute("set local row_security to off")
        yield


def lift_time_limits(connection: Connection) -> None:
    """Lift those of the session, unless a pooler lends it."""
    connection.execute(UNLIMITED_SESSION, [connection.info.backend_pid])
