"""The type of a control connection: of the target's own driver, opened by the caller."""

import os
import socket
from contextlib import suppress
from typing import Any, TypeAlias

Connection: TypeAlias = Any


def hang_up(connection: Connection) -> None:
    """Hang up, from any thread: whoever waits for an answer gets an error at once.

    A driver that does not expose its socket (ODBC's) continues to wait.
    """
    # The owner or the server may be closing it at this very moment.
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)
