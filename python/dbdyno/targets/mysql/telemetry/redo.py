"""The redo log: how much was written, and how far the last checkpoint is behind.

``bytes`` count up with the log sequence number, which is exact at each instant. ``age_bytes``
are what a crash now would have to redo; close to ``age_max_bytes`` the server writes pages out
as fast as it can and lets the load wait. Where the counters do not tell, the report of the
storage engine does.
"""

from dbdyno.model.source import Numbers, Source
from dbdyno.targets.connection import Connection
from dbdyno.targets.mysql.telemetry.engine_report import engine_report, log_positions
from dbdyno.targets.mysql.telemetry.place import Here, NotHereError
from dbdyno.targets.mysql.telemetry.status import status

# What is written so far, the last checkpoint, and the bound of their distance.
MARIADB = ("Innodb_lsn_current", "Innodb_lsn_last_checkpoint", "Innodb_checkpoint_max_age")
MYSQL = (
    "Innodb_redo_log_current_lsn",
    "Innodb_redo_log_checkpoint_lsn",
    "Innodb_redo_log_capacity_resized",
)


def wal_position(connection: Connection, here: Here) -> Source[Connection]:
    """Under the name that every database's log has here."""
    names = MARIADB if here.is_mariadb else MYSQL
    read = _from_counters if names[0] in status(connection, names) else _from_report
    if read is _from_report and not here.sees_all:
        raise NotHereError(here.hidden)
    return Source(
        name="wal_position",
        read=lambda connection: {"": read(connection, names)},
        levels=frozenset({"age_bytes", "age_max_bytes"}),
    )


def _from_counters(connection: Connection, names: tuple[str, ...]) -> Numbers:
    found = status(connection, names)
    written, checkpoint, bound = (found[name] for name in names)
    return {"bytes": written, "age_bytes": written - checkpoint, "age_max_bytes": bound}


def _from_report(connection: Connection, _names: tuple[str, ...]) -> Numbers:
    """Which does not tell the bound."""
    written, checkpoint = log_positions(engine_report(connection))
    return {"bytes": written, "age_bytes": written - checkpoint}
