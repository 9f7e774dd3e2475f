"""A control connection over ODBC, with the few calls that psycopg's has. All values are text."""

from collections.abc import Iterator
from types import TracebackType
from typing import Self, TypeAlias

from dbdyno.servers.odbc import manager
from dbdyno.servers.odbc.attributes import Attributes, login_words
from dbdyno.servers.odbc.manager import Handle

PRODUCT, VERSION = 17, 18

Row: TypeAlias = tuple[str | None, ...]


class Rows:
    """The answer to a statement."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = iter(rows)

    def fetchone(self) -> Row | None:
        """The next row, if there is one."""
        return next(self._rows, None)

    def fetchall(self) -> list[Row]:
        """The rows that are left."""
        return list(self._rows)

    def __iter__(self) -> Iterator[Row]:
        """The rows that are left."""
        return self._rows


class OdbcConnection:
    """One session, in autocommit mode."""

    def __init__(self, attributes: Attributes, timeout_s: int) -> None:
        self.attributes = attributes
        self.timeout_s = timeout_s
        self._environment = manager.environment()
        try:
            words = login_words(attributes)
            self._connection = manager.connected(self._environment, words, timeout_s)
        except Exception:
            self._environment.free()
            raise
        self.closed = False
        self.product = manager.information(self._connection, PRODUCT)
        self.version = manager.information(self._connection, VERSION)

    def execute(self, statement: str) -> Rows:
        """Runs a statement; its rows are there when this returns."""
        handle = Handle(manager.STATEMENT, self._connection)
        try:
            return Rows(manager.rows_of(handle, statement))
        finally:
            handle.free()

    def close(self) -> None:
        """Ends the session, if it has not ended."""
        if self.closed:
            return
        self.closed = True
        manager.library().SQLDisconnect(self._connection.raw)
        self._connection.free()
        self._environment.free()

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
