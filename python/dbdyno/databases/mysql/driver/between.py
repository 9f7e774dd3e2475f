"""What lies between a connection and a MySQL or MariaDB server, as greeting and server tell."""

from functools import partial

import pymysql

from dbdyno.databases.intermediary import (
    PROGRAMS,
    UNIX_SOCKET,
    Ends,
    Place,
    between,
    end_of,
    program_at,
    with_mode,
    with_product,
)
from dbdyno.databases.mysql.driver.connecting import open_connection
from dbdyno.databases.mysql.driver.connection import MysqlConnection
from dbdyno.model.record import IntermediaryRecord

# ProxySQL answers ``select connection_id()`` itself, by its own number.
_SELF = "select id, host from information_schema.processlist where id = connection_id()"
_AT_SOCKET = "localhost"
"""What the server calls a client without a port."""
_NUMBER_MAX = 0xFFFFFFFF
"""Greetings have room for no greater number."""
_REPLICATES_AS = "5.5.5-"
"""MariaDB puts it before its version in greetings, for clients that know only numbers below 10."""


def intermediary(target: str, connection: MysqlConnection) -> IntermediaryRecord | None:
    """Return what lies between the connection, which ``target`` leads to, and its server."""
    greeted = connection.greeted_version.removeprefix(_REPLICATES_AS)
    (version,) = connection.execute("select @@version").fetchone() or ("",)
    is_other = not str(version).startswith(greeted) and not greeted.startswith(str(version))
    serving, client = _seen(connection)
    told = f"the greeting was of version {greeted}, and the server is {version}"
    ends = Ends(
        announced=connection.announced_id & _NUMBER_MAX,
        serving=serving,
        client=client,
        told=told if is_other else "",
    )
    found = between(ends, end_of(connection))
    if found is None:
        return None
    named = (title for word, title in PROGRAMS.items() if word in greeted.lower())
    found = with_product(found, next(named, "") or program_at(connection))
    if found.kind == "proxy":
        return found
    return with_mode(found, connection, partial(open_connection, target), _serving, _not_known)


def _serving(connection: MysqlConnection) -> int:
    return _seen(connection)[0]


def _seen(connection: MysqlConnection) -> tuple[int, Place | None]:
    """Return the session that answers, and where the server sees its client.

    If nobody tells, that is the announced session. The server may tell a name instead of an
    address: then only the port is compared.
    """
    try:
        row = connection.execute(_SELF).fetchone()
    except pymysql.Error:  # a server that only speaks the protocol
        if connection.closed:
            raise
        row = None
    if row is None:
        return connection.announced_id & _NUMBER_MAX, None
    address, _, port = str(row[1]).rpartition(":")
    place = Place(address, int(port)) if address and port.isdecimal() else None
    return int(row[0]) & _NUMBER_MAX, UNIX_SOCKET if row[1] == _AT_SOCKET else place


def _not_known(_first: MysqlConnection, _second: MysqlConnection) -> None:
    """Poolers of this protocol know of prepared statements; whether this one does is not asked."""
