"""The context of telemetry: the server's product and version, and what our user may read.

Determined once per connection, by trying: privileges come from grants, roles and defaults that
differ between products.
"""

import pymysql
from msgspec import Struct

from dbdyno.databases.connection import Connection

PROCESS = "grant process on *.* to it"
SCHEMA_OFF = "performance_schema is off (it is set when the server starts)"
SCHEMA_HIDDEN = "our user may not read it: grant select on performance_schema.* to it"

SERVER = """
    select version(), current_user(), coalesce(database(), ''), @@global.performance_schema"""
TRANSACTIONS = "select 1 from information_schema.innodb_trx limit 1"
THREADS = "select 1 from performance_schema.threads limit 1"
WAITS = """
    select enabled = 'YES' from performance_schema.setup_consumers
    where name = 'events_waits_current'"""


DEFINITIONS = """
    select enabled = 'YES' from performance_schema.setup_instruments
    where name = 'wait/lock/metadata/sql/mdl'"""


class ServerContext(Struct, frozen=True):
    """What a connection may read."""

    is_mariadb: bool
    user: str
    database: str
    sees_all: bool
    """Whether sessions of other users, and transactions, are visible."""
    schema_lack: str
    """Why the performance schema cannot be read; empty if it can."""
    has_waits: bool
    """Whether it records what each session waits for at the moment."""
    has_definitions: bool
    """Whether it records who holds metadata locks."""

    @property
    def has_schema(self) -> bool:
        """Whether the performance schema is on and we may read it."""
        return not self.schema_lack

    @property
    def hidden(self) -> str:
        """Why not everything is visible, and what would make it so."""
        return f"{self.user} may not see sessions of others, nor transactions: {PROCESS}"


def server_context(connection: Connection) -> ServerContext:
    """Return the connection's context, which is determined once."""
    if connection.context is None:
        connection.context = _read_server_context(connection)
    found: ServerContext = connection.context
    return found


def _read_server_context(connection: Connection) -> ServerContext:
    version, user, database, schema_is_on = connection.execute(SERVER).fetchone()
    lack = _schema_lack(connection) if schema_is_on else SCHEMA_OFF
    return ServerContext(
        is_mariadb="MariaDB" in version,
        user=user,
        database=database,
        sees_all=_is_allowed(connection, TRANSACTIONS),
        schema_lack=lack,
        has_waits=not lack and _is_on(connection, WAITS),
        has_definitions=not lack and _is_on(connection, DEFINITIONS),
    )


def _schema_lack(connection: Connection) -> str:
    return "" if _is_allowed(connection, THREADS) else SCHEMA_HIDDEN


def _is_allowed(connection: Connection, query: str) -> bool:
    """Whether the query succeeds: the server has this, and lets us read it."""
    try:
        connection.execute(query)
    except pymysql.Error:
        if connection.closed:
            raise
        return False
    return True


def _is_on(connection: Connection, query: str) -> bool:
    """Whether the server has it, and it is enabled."""
    row = connection.execute(query).fetchone() if _is_allowed(connection, query) else None
    return bool(row and row[0])
