"""One look at a MariaDB or MySQL server: its sessions and, when one of them waits, the locks.

A handful of statements, one right after the other: what is seen by the first may be over by the
last, so that now and then a session waits for a row whose lock nobody is seen to hold.
"""

from dbdyno.targets.connection import Connection
from dbdyno.targets.mysql.telemetry.locks import locks
from dbdyno.targets.mysql.telemetry.place import here
from dbdyno.targets.mysql.telemetry.sessions import sessions
from dbdyno.targets.mysql.telemetry.transactions import NOT_SHOWN, transactions
from dbdyno.targets.telemetry import Locks, Sessions

LOCK = "Lock"


def look(connection: Connection) -> tuple[list[Sessions], list[Locks]]:
    """All sessions but our own; the locks that have to do with waiting."""
    place = here(connection)
    of = transactions(connection) if place.sees_all else NOT_SHOWN
    seen = sessions(connection, place, of)
    somebody_waits = any(its.wait_type == LOCK for its in seen)
    return seen, locks(connection, place) if place.sees_all and somebody_waits else []
