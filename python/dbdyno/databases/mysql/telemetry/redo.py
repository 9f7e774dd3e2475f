"""The redo log: how much was written, and how far the last checkpoint is behind.

``bytes`` is the log sequence number, which is exact at each instant. ``age_bytes`` is what a crash
now would have to redo; close to ``age_max_bytes`` the server writes out pages as fast as it can and
makes the load wait. Without counters for them, they come from the storage engine's report.
"""

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.telemetry.engine_report import engine_report, log_positions
from dbdyno.databases.mysql.telemetry.server_context import ServerContext
from dbdyno.databases.mysql.telemetry.status import status
from dbdyno.databases.telemetry import SourceUnavailableError
from dbdyno.model.source import Numbers, Source

# The end of the log, the last checkpoint, and the limit of their distance.
MARIADB = ("Innodb_lsn_current", "Innodb_lsn_last_checkpoint", "Innodb_checkpoint_max_age")
MYSQL = (
    "Innodb_redo_log_current_lsn",
    "Innodb_redo_log_checkpoint_lsn",
    "Innodb_redo_log_capacity_resized",
)
# MySQL reports the size of its files. Two of the 32 stay free, and a twentieth of the rest is
# reserved for the log writer: when the remainder is full, sessions wait.
USABLE_MARIADB, USABLE_MYSQL = 1.0, 30 / 32 * 0.95


def wal_position(connection: Connection, context: ServerContext) -> Source[Connection]:
    """Return the source, under the name that every database's log has here."""
    names = MARIADB if context.is_mariadb else MYSQL
    usable = USABLE_MARIADB if context.is_mariadb else USABLE_MYSQL
    counts = names[0] in status(connection, names)
    if not counts and not context.sees_all:
        raise SourceUnavailableError(context.hidden)

    def read(connection: Connection) -> dict[str, Numbers]:
        numbers = _from_counters(connection, names, usable) if counts else _from_report(connection)
        return {"": numbers}

    return Source(
        name="wal_position",
        read=read,
        levels=frozenset({"age_bytes", "age_max_bytes"}),
    )


def _from_counters(connection: Connection, names: tuple[str, ...], usable: float) -> Numbers:
    found = status(connection, names)
    written, checkpoint, size = (float(found[name]) for name in names)
    return {"bytes": written, "age_bytes": written - checkpoint, "age_max_bytes": size * usable}


def _from_report(connection: Connection) -> Numbers:
    """Return the numbers of the report, which does not contain the limit."""
    written, checkpoint = log_positions(engine_report(connection))
    return {"bytes": written, "age_bytes": written - checkpoint}
