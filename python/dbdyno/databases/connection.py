"""The type of a control connection: of the target's own driver, opened by the caller."""

import os
import socket
from abc import ABC, abstractmethod
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeAlias

Connection: TypeAlias = Any


class ClosedAfterUse(ABC):
    """A connection as a context manager, as psycopg's is."""

    @abstractmethod
    def close(self) -> None:
        """End the session, unless it has ended."""

    def __enter__(self) -> Self:
        """Return the connection, for the duration of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it, whatever happened."""
        self.close()


def hang_up(connection: Connection) -> None:
    """Hang up, from any thread: whoever waits for an answer gets an error at once.

    A driver that does not expose its socket (ODBC's) continues to wait.
    """
    # The owner or the server may be closing it at this very moment.
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)
