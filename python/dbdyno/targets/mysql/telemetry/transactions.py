"""InnoDB's list of transactions: who waits for a lock, and how long each has been open.

The server makes the list anew only when nobody has read it for 0.1 s, and making it takes time
with the square of the longest queue for one row: on MariaDB 10.11 a reading took 0.5 ms with
nobody waiting, 1 ms with 64 in a queue, and 100 ms with 500, with all locking stopped meanwhile.
So only looks read it, which are spaced by what they cost.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from dbdyno.targets.mysql.telemetry.asking import Part

REFRESHED_AFTER_S = 0.12
WAITING = "LOCK WAIT"
TRANSACTIONS = Part(("trx_mysql_thread_id", "trx_state"), "from information_schema.innodb_trx")


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
