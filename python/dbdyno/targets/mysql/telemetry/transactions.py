"""InnoDB's list of transactions: who waits for a lock, and how long each has been open.

The server makes the list anew only when nobody has read it for 0.1 s, and making it takes time
with the square of the longest queue for one row: on MariaDB 10.11 a reading took 0.5 ms with
nobody waiting, 1 ms with 64 in a queue, and 80 ms with 500, with all locking stopped meanwhile.
So it is read once a look, and who wants it for less turns back from a long queue.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from dbdyno.targets.connection import Connection
from dbdyno.targets.mysql.telemetry.asking import Part

REFRESHED_AFTER_S = 0.12
QUEUE_MAX = 100

WAITING = "LOCK WAIT"
TRANSACTIONS = Part(("trx_mysql_thread_id", "trx_state"), "from information_schema.innodb_trx")
QUEUE = "show global status like 'Innodb_row_lock_current_waits'"


class Transactions(Struct, frozen=True):
    """The connections with one open, and among these those that wait for a lock."""

    open: frozenset[int]
    waiting: frozenset[int]


def transactions_of(rows: Sequence[Sequence[Any]]) -> Transactions:
    """As the rows of a look tell them."""
    return Transactions(
        frozenset(int(number) for number, _ in rows),
        frozenset(int(number) for number, state in rows if state == WAITING),
    )


def is_queue_long(connection: Connection) -> bool:
    """Whether so many wait for rows that the list is dear."""
    row = connection.execute(QUEUE).fetchone()
    return row is not None and int(row[1]) > QUEUE_MAX
