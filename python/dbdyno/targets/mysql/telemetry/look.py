"""One look at a MariaDB or MySQL server: its sessions and, when one of them waits, the locks.

MariaDB's locks are of the same copy as its transactions and come along; those of MySQL, and
those of a table's definition, are asked for when somebody waits.
"""

from dbdyno.targets.connection import Connection
from dbdyno.targets.mysql.telemetry.asking import Part, asked
from dbdyno.targets.mysql.telemetry.locks import DEFINITIONS, LOCKS_MARIADB, LOCKS_MYSQL, locks_of
from dbdyno.targets.mysql.telemetry.place import ServerContext, here
from dbdyno.targets.mysql.telemetry.sessions import (
    LISTED,
    LISTED_BY_SCHEMA,
    LISTED_WITH_TASKS,
    WAITS,
    sessions_of,
)
from dbdyno.targets.mysql.telemetry.transactions import TRANSACTIONS
from dbdyno.targets.telemetry import Locks, Seen, Sessions

LOCK = "Lock"


def look(connection: Connection) -> Seen:
    """All sessions but our own; the locks that have to do with waiting."""
    seen = _seen(connection)
    return lambda: seen


def _seen(connection: Connection) -> tuple[list[Sessions], list[Locks]]:
    place = here(connection)
    rows = asked(connection, _parts(place))
    sessions = sessions_of(rows["session"], rows["transaction"], rows["wait"])
    if not any(its.wait_type == LOCK for its in sessions):
        return sessions, []
    more = asked(connection, _lock_parts(place))
    return sessions, locks_of(place.database, [*rows["lock"], *more["lock"]], more["definition"])


def _parts(place: ServerContext) -> dict[str, Part]:
    """What is asked each time."""
    by_list = LISTED_WITH_TASKS if place.is_mariadb else LISTED
    parts = {"session": LISTED_BY_SCHEMA if place.has_schema else by_list}
    if place.has_waits:
        parts["wait"] = WAITS
    if place.sees_all:
        parts["transaction"] = TRANSACTIONS
        if place.is_mariadb:
            parts["lock"] = LOCKS_MARIADB
    return parts


def _lock_parts(place: ServerContext) -> dict[str, Part]:
    """What is asked besides once somebody waits."""
    parts = {}
    if place.has_schema and not place.is_mariadb:
        parts["lock"] = LOCKS_MYSQL
    if place.has_definitions:
        parts["definition"] = DEFINITIONS
    return parts
