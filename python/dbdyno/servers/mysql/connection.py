"""A control connection over PyMySQL, with the few calls that psycopg's has.

What asks a server need not know which driver carries it: ``execute`` takes parameters as ``%s``
and returns what has the rows.
"""

import socket
import ssl
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import pymysql
from pymysql.cursors import Cursor

from dbdyno.servers.mysql.login import Login


class MysqlConnection:
    """One session, in autocommit mode."""

    def __init__(self, driver: "pymysql.Connection[Cursor]", login: Login) -> None:
        self._driver = driver
        self.login = login

    def execute(self, statement: str, parameters: Sequence[Any] | None = None) -> Cursor:
        """Runs a statement; its rows are there when this returns."""
        cursor = self._driver.cursor()
        cursor.execute(statement, parameters)
        return cursor

    @property
    def closed(self) -> bool:
        """Whether it was closed, or broke."""
        return not self._driver.open

    @property
    def is_encrypted(self) -> bool:
        """Whether TLS was agreed upon."""
        return isinstance(self._socket, ssl.SSLSocket)

    @property
    def server_pid(self) -> int | None:
        """The process at the other end of a Unix socket."""
        if self._socket.family != socket.AF_UNIX:
            return None
        credentials = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(credentials[:4], sys.byteorder) or None

    @property
    def _socket(self) -> socket.socket:
        """The driver shows it to nobody."""
        found: socket.socket = self._driver._sock  # type: ignore[attr-defined]
        return found

    def fileno(self) -> int:
        """The socket's number; another thread may shut it down."""
        return self._socket.fileno()

    def close(self) -> None:
        """Ends the session, if it has not ended."""
        if not self.closed:
            self._driver.close()

    def __enter__(self) -> Self:
        """The connection, for as long as the block lasts."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes it, whatever happened."""
        self.close()
