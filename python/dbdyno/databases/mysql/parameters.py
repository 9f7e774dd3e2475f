"""Whether the server takes parameters where a statement has variables."""

import pymysql

from dbdyno.databases.adapter import Parameters
from dbdyno.databases.connection import Connection

# Syntax, and statements that cannot be prepared. What names something that does not exist (yet)
# says nothing: the script itself may create it.
_REFUSALS = frozenset({1064, 1295})


def parameters(connection: Connection, sql: str, _count: int) -> Parameters:
    """Return whether the server takes parameters in this statement; it tells no types."""
    try:
        connection.execute("prepare dbdyno_check from %s", [sql])
    except pymysql.MySQLError as error:
        number, message = [*error.args, 0, ""][:2]
        return Parameters(str(message) if number in _REFUSALS else "")
    connection.execute("deallocate prepare dbdyno_check")
    return Parameters()
