"""InnoDB's list of transactions: who waits for a lock, and how long each has been open.

The server makes the list anew only when nobody has read it for 0.1 s, and making it takes time
with the square of the longest queue for one row: on MariaDB 10.11 a reading took 0.5 ms with
nobody waiting, 1 ms with 64 in a queue, and 100 ms with 500, with all locking stopped meanwhile.
So only session samples read it there, which are spaced by their cost; ages are from the engine's
report. MySQL's list holds no locks and stays cheap (4 ms with 100 in a queue), and its
report leaves out transactions that only read.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from dbdyno.targets.connection import Connection
from dbdyno.targets.mysql.telemetry.combined_query import Part
from dbdyno.targets.mysql.telemetry.engine_report import engine_report, reported_ages_s
from dbdyno.targets.mysql.telemetry.server_context import ServerContext

REFRESHED_AFTER_S = 0.12
WAITING = "LOCK WAIT"
AGES_MYSQL = """
    select trx_mysql_thread_id, timestampdiff(second, trx_started, now())
    from information_schema.innodb_trx"""
TRANSACTIONS = Part(("trx_mysql_thread_id", "trx_state"), "from information_schema.innodb_trx")


class Transactions(Struct, frozen=True):
    """The connections with one open, and among these those that wait for a lock."""

    open: frozenset[int]
    waiting: frozenset[int]


def transactions_of(rows: Sequence[Sequence[Any]]) -> Transactions:
    """As the rows of a sample tell them."""
    return Transactions(
        frozenset(int(number) for number, _ in rows),
        frozenset(int(number) for number, state in rows if state == WAITING),
    )


def transaction_ages_s(connection: Connection, context: ServerContext) -> dict[int, int]:
    """How long the transaction of each session has been open, by the session's number."""
    if context.is_mariadb:
        return reported_ages_s(engine_report(connection))
    rows = connection.execute(AGES_MYSQL).fetchall()
    return {int(number): int(age) for number, age in rows}
