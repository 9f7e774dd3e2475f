"""Samples a PostgreSQL server: sessions and, if one of them waits for a lock, the locks.

One statement reads both at nearly the same instant. Even if there are no locks to return, it takes
the server twice as long as one for the sessions alone, which is used while nobody waits.

With 500 sessions queuing for one row on PostgreSQL 15 (28 rows of sessions, 33 for 1000 locks), a
sample took 1.5 ms of the server's CPU time and 0.2 ms of ours: the server's own lists alone take
0.25 and 0.7 ms, and returning sessions and locks one by one took 2.2 and 0.5 ms. With 8 sessions of
which none waits, a sample takes 0.03 and 0.02 ms, and several times as much if other processes have
used the CPU caches.
"""

from dbdyno.databases.postgresql.driver.connection import PostgresqlConnection
from dbdyno.databases.postgresql.telemetry.locks import (
    CONCERNED,
    LOCK_FIELDS,
    LOCKS,
    WAITED,
    WAITED_SINCE,
    LockRow,
    locks_of,
)
from dbdyno.databases.postgresql.telemetry.prepared_queries import Answer, execute
from dbdyno.databases.postgresql.telemetry.sessions import (
    LOCK_WAIT,
    SESSION_FIELDS,
    SESSIONS,
    SOMEBODY_WAITS,
    sessions_of,
)
from dbdyno.databases.telemetry import Locks, PendingSample, Sessions

# In a row of locks ``granted`` is set; in a row of sessions it is NULL.
SESSION_ROWS = f"select pids, null::float4[], null::bool, null, {SESSION_FIELDS} from session"
SHORT = f"with session as ({SESSIONS}) {SESSION_ROWS}"


def _with_locks(waited: str) -> str:
    return f"""
        with session as materialized ({SESSIONS}),
        lock as materialized ({LOCKS.format(waited=waited, somebody_waits=SOMEBODY_WAITS)})
        {SESSION_ROWS}
        union all
        select pids, waited_s, granted, transactions, {LOCK_FIELDS} from lock where {CONCERNED}"""


FULL = _with_locks(WAITED)
FULL_BEFORE_14 = _with_locks("null")


def sample_sessions(connection: PostgresqlConnection) -> PendingSample:
    """Return all sessions but those of telemetry itself."""
    answer = execute(connection, SHORT)
    return lambda: _decoded(answer)


def sample_with_locks(connection: PostgresqlConnection) -> PendingSample:
    """Return all sessions but those of telemetry itself, and the locks involved in waiting.

    If nobody waited recently and nobody waits now, the short statement is the only one.
    """
    if not connection.has_seen_waiters:
        sessions, _ = _decoded(execute(connection, SHORT))
        if not any(alike.wait_type == LOCK_WAIT for alike in sessions):
            return lambda: (sessions, [])
        connection.has_seen_waiters = True
    knows_times = connection.info.server_version >= WAITED_SINCE
    answer = execute(connection, FULL if knows_times else FULL_BEFORE_14)
    return lambda: _decoded_with_locks(connection, answer)


def _decoded_with_locks(
    connection: PostgresqlConnection, answer: Answer
) -> tuple[list[Sessions], list[Locks]]:
    sessions, locks = _decoded(answer)
    if not locks:
        connection.has_seen_waiters = False
    return sessions, locks


def _decoded(answer: Answer) -> tuple[list[Sessions], list[Locks]]:
    rows = answer.rows()
    sessions = [
        sessions_of(pids, fields) for pids, _, granted, _, fields in rows if granted is None
    ]
    return sessions, locks_of([LockRow(*row) for row in rows if row[2] is not None])
