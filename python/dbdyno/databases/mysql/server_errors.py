"""The server's errors during our own work (not the load's), with the next step for a person."""

from collections.abc import Iterator
from contextlib import contextmanager

import pymysql

from dbdyno.databases.adapter import TABLE_NEEDED
from dbdyno.errors import DbdynoError

_NO_RIGHTS = (
    "no_rights",
    "grant the right (for tables: CREATE on the database), or connect as another user",
)
_READ_ONLY = ("read_only", "the server is a replica or set read-only")
_DISK_FULL = ("disk_full", "make room on the server's disk, or load a smaller scale")
_NOT_A_TABLE = ("not_a_table", "something else has the table's name: rename it")
_CANCELLED = ("cancelled", "a timeout of the server, or someone, cancelled it")
_LOST = ("server_lost", "the server's error log may say why")

# The server's error number → our code, the next step.
CAUSES: dict[int, tuple[str, str]] = {
    **dict.fromkeys((1044, 1142, 1143, 1227), _NO_RIGHTS),
    **dict.fromkeys((1290, 1792, 1836), _READ_ONLY),
    **dict.fromkeys((1021, 1114), _DISK_FULL),
    **dict.fromkeys((1217, 1451, 3730), TABLE_NEEDED),
    **dict.fromkeys((1347, 1965), _NOT_A_TABLE),
    **dict.fromkeys((1317, 1969, 3024), _CANCELLED),
    **dict.fromkeys((1053, 1927, 2006, 2013), _LOST),
    1046: ("no_database", "name a database in the target: mysql://…/database"),
    1050: ("table_exists", "--replace drops it first"),
    1146: ("missing_table", "load the data first: dbdyno load WORKLOAD"),
    1148: ("no_local_infile", "SET GLOBAL local_infile = ON lets data be loaded"),
    1205: ("locked", "somebody else holds a lock: end that transaction first"),
    1506: ("bad_parameter", "a partitioned table can have no foreign keys here"),
    3948: ("no_local_infile", "SET GLOBAL local_infile = ON lets data be loaded"),
}
DISK_FULL_CODES = frozenset(str(number) for number, cause in CAUSES.items() if cause is _DISK_FULL)


@contextmanager
def understood(doing: str) -> Iterator[None]:
    """Turn the driver's errors inside the block into dbdyno's."""
    try:
        yield
    except pymysql.Error as error:
        number, text = _parts(error)
        code, hint = CAUSES.get(number) or _otherwise(error, number)
        raise DbdynoError(code, f"cannot {doing}: {text}", hint) from error


def _parts(error: pymysql.Error) -> tuple[int, str]:
    match error.args:
        case (int(number), str(text)) if text:
            return number, text
        case _:
            return 0, "the connection to the server is lost"


def _otherwise(error: pymysql.Error, number: int) -> tuple[str, str]:
    if number == 0 or isinstance(error, pymysql.InterfaceError):
        return _LOST
    return "server_error", f"error number {number}"
