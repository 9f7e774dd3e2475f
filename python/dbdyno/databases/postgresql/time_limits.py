"""Limits on time that are meant for the load."""

from psycopg import Connection

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


def lift_time_limits(connection: Connection) -> None:
    """Lift those of the session, unless a pooler lends it."""
    connection.execute(UNLIMITED_SESSION, [connection.info.backend_pid])
