"""A control connection over ODBC, with the few methods of psycopg's. All values are text."""

from collections.abc import Iterator
from typing import TypeAlias

from dbdyno.databases.connection import ClosedAfterUse
from dbdyno.databases.odbc.driver import manager
from dbdyno.databases.odbc.driver.attributes import Attributes, connection_string
from dbdyno.databases.odbc.driver.manager import Handle

PRODUCT, VERSION = 17, 18

Row: TypeAlias = tuple[str | None, ...]


class Rows:
    """The rows of a statement."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = iter(rows)

    def fetchone(self) -> Row | None:
        """Return the next row, if there is one."""
        return next(self._rows, None)

    def fetchall(self) -> list[Row]:
        """Return the remaining rows."""
        return list(self._rows)

    def __iter__(self) -> Iterator[Row]:
        """Iterate over the remaining rows."""
        return self._rows


class OdbcConnection(ClosedAfterUse):
    """A session in autocommit mode."""

    def __init__(self, attributes: Attributes, timeout_s: int) -> None:
        self.attributes = attributes
        self.timeout_s = timeout_s
        self._environment = manager.environment()
        try:
            login = connection_string(attributes)
            self._connection = manager.connected(self._environment, login, timeout_s)
        except Exception:
            self._environment.free()
            raise
        self.closed = False
        self.product = manager.information(self._connection, PRODUCT)
        self.version = manager.information(self._connection, VERSION)

    def execute(self, statement: str) -> Rows:
        """Execute a statement; its rows have been received when this returns."""
        handle = Handle(manager.STATEMENT, self._connection)
        try:
            return Rows(manager.rows_of(handle, statement))
        finally:
            handle.free()

    def close(self) -> None:
        """End the session, unless it has ended."""
        if self.closed:
            return
        self.closed = True
        manager.library().SQLDisconnect(self._connection.raw)
        self._connection.free()
        self._environment.free()
