"""How many more clients the server admits."""

from dbdyno.targets.base import FreeConnections
from dbdyno.targets.connection import Connection


def free_connections(connection: Connection) -> FreeConnections:
    """Return the free connections besides this one and the extra one for administrators."""
    (admitted,) = connection.execute("select @@global.max_connections").fetchone()
    _, connected = connection.execute("show global status like 'Threads_connected'").fetchone()
    others = int(connected) - 1
    return FreeConnections(
        count=admitted - others - 1,
        reason=f"max_connections {admitted}, {others} in use and one by us",
        hint="Raise max_connections (SET GLOBAL max_connections = …), or use fewer clients.",
    )
