"""How many more clients the server admits."""

from dbdyno.databases.adapter import FreeConnections
from dbdyno.databases.connection import Connection

# The session's max_user_connections is the limit of its account, 0 for none. A user without PROCESS
# sees the sessions of the account, which are those that count.
OF_USER = """
    select @@session.max_user_connections, count(*)
    from information_schema.processlist
    where user = (select user from information_schema.processlist where id = connection_id())"""


def free_connections(connection: Connection) -> FreeConnections:
    """Return the free connections besides this one and the extra one for administrators."""
    (admitted,) = connection.execute("select @@global.max_connections").fetchone()
    _, connected = connection.execute("show global status like 'Threads_connected'").fetchone()
    of_user, sessions = connection.execute(OF_USER).fetchone()
    limits = [_free("max_connections", "SET GLOBAL max_connections = …", admitted, int(connected))]
    if of_user:
        how = "ALTER USER … WITH MAX_USER_CONNECTIONS …"
        limits.append(_free("the user's max_user_connections", how, of_user, sessions))
    return min(limits, key=lambda limit: limit.count)


def _free(limit: str, how: str, admitted: int, connected: int) -> FreeConnections:
    others = connected - 1
    return FreeConnections(
        count=admitted - others - 1,
        reason=f"{limit} {admitted}, {others} in use and one by us",
        hint=f"Raise {limit} ({how}), or use fewer clients.",
    )
