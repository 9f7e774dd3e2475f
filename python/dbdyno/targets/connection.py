"""The word for a control connection: of the target's own driver, opened by whoever asks."""

import os
import socket
from contextlib import suppress
from typing import Any, TypeAlias

Connection: TypeAlias = Any


def hang_up(connection: Connection) -> None:
    """From any thread: whoever waits for an answer on it gets an error now.

    A driver that keeps its socket to itself (ODBC's) goes on waiting.
    """
    # It may be closed at this very moment, by its owner or by the server.
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)
