"""InnoDB's list of transactions: which sessions wait for a lock, and the age of each transaction.

The server rebuilds the list only if it was last read at least 0.1 s ago, and that takes time in
proportion to the square of the longest queue for one row: on MariaDB 10.11 a reading took 0.5 ms
with no waiters, 1 ms with 64 in a queue, and 100 ms with 500, during which all locking stopped.
There, only session samples read it, spaced according to their cost; ages come from the storage
engine's report. MySQL's list contains no locks and stays cheap (4 ms with 100 in a queue), and its
report leaves out read-only transactions.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.telemetry.combined_query import Part
from dbdyno.databases.mysql.telemetry.engine_report import engine_report, reported_ages_s
from dbdyno.databases.mysql.telemetry.server_context import ServerContext

REFRESHED_AFTER_S = 0.12
WAITING = "LOCK WAIT"
# MySQL writes their start in the host's time zone, whatever that of the session.
AGES_MYSQL = """
    select trx_mysql_thread_id, timestampdiff(second, trx_started,
        convert_tz(now(), @@session.time_zone, 'SYSTEM'))
    from information_schema.innodb_trx"""
TRANSACTIONS = Part(("trx_mysql_thread_id", "trx_state"), "from information_schema.innodb_trx")


class Transactions(Struct, frozen=True):
    """The connections with an open transaction, and those of them that wait for a lock."""

    open: frozenset[int]
    waiting: frozenset[int]


def transactions_of(rows: Sequence[Sequence[Any]]) -> Transactions:
    """Return the transactions in the rows of a sample."""
    return Transactions(
        frozenset(int(number) for number, _ in rows),
        frozenset(int(number) for number, state in rows if state == WAITING),
    )


def transaction_ages_s(connection: Connection, context: ServerContext) -> dict[int, int]:
    """Return the age of each session's open transaction, by the session's ID."""
    if context.is_mariadb:
        return reported_ages_s(engine_report(connection))
    rows = connection.execute(AGES_MYSQL).fetchall()
    return {int(number): int(age) for number, age in rows}
