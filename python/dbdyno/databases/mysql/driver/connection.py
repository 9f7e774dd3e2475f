"""A control connection over PyMySQL, with the few methods that psycopg's has, too.

Code that queries a server need not know its driver: ``execute`` takes parameters as ``%s`` and
returns an object with the rows.
"""

import socket
import ssl
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pymysql
from msgspec.structs import replace
from pymysql.constants import CR
from pymysql.cursors import Cursor

from dbdyno.databases.connection import ClosedAfterUse
from dbdyno.databases.mysql.driver.login import Login
from dbdyno.model.plan import Address

if TYPE_CHECKING:
    from dbdyno.databases.mysql.telemetry.server_context import ServerContext


class MysqlConnection(ClosedAfterUse):
    """A session in autocommit mode; ``context`` is what telemetry knows of it."""

    def __init__(self, driver: "pymysql.Connection[Cursor]", login: Login) -> None:
        self._driver = driver
        self.login = login
        self.context: ServerContext | None = None

    def execute(self, statement: str, parameters: Sequence[Any] | None = None) -> Cursor:
        """Execute a statement; its rows have been received when this returns."""
        cursor = self._driver.cursor()
        try:
            cursor.execute(statement, parameters)
        except pymysql.Error:
            raise
        except Exception as error:  # an answer that the driver cannot read
            self.close()
            why = f"the driver cannot read the server's answer: {error}"
            raise pymysql.OperationalError(CR.CR_MALFORMED_PACKET, why) from error
        return cursor

    @property
    def closed(self) -> bool:
        """Whether it was closed, or broke."""
        return not self._driver.open

    @property
    def announced_id(self) -> int:
        """The number of the session in the server's greeting."""
        (number,) = self._driver.server_thread_id  # type: ignore[attr-defined]
        return int(number)

    @property
    def greeted_version(self) -> str:
        """The version in the server's greeting."""
        version: str = self._driver.server_version  # type: ignore[attr-defined]
        return version

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection uses TLS."""
        return isinstance(self._socket, ssl.SSLSocket)

    @property
    def address(self) -> Address:
        """The address that answered: a host name may have several."""
        tcp = self.login.address.tcp
        if not tcp:
            return self.login.address
        return Address(tcp=replace(tcp, numeric=self._socket.getpeername()[0]))

    @property
    def server_pid(self) -> int | None:
        """The process at the other end of a Unix socket."""
        if self._socket.family != socket.AF_UNIX:
            return None
        credentials = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(credentials[:4], sys.byteorder) or None

    @property
    def _socket(self) -> socket.socket:
        """The driver's private socket."""
        found: socket.socket = self._driver._sock  # type: ignore[attr-defined]
        return found

    def wait_without_limit(self) -> None:
        """Let statements take as long as they need, unlike the login."""
        self._driver._read_timeout = None  # type: ignore[attr-defined]
        self._driver._write_timeout = None  # type: ignore[attr-defined]

    def fileno(self) -> int:
        """Return the socket's file descriptor; another thread may shut it down."""
        return self._socket.fileno()

    def close(self) -> None:
        """End the session, unless it has ended."""
        if not self.closed:
            self._driver.close()
