"""A connection of telemetry's own, reopened when it breaks.

One thread owns it and sends the queries; any thread may hang up, which ends the current query at
once, even if the server no longer answers.
"""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from dbdyno.databases.connection import Connection, hang_up
from dbdyno.databases.telemetry import Telemetry
from dbdyno.telemetry.publisher import error_line
from dbdyno.telemetry.server_cpu_time import ServerCpuTime

Answer = TypeVar("Answer")

RETRY_FIRST_S = 0.5
RETRY_MAX_S = 10.0
NOTE_SERVED_EVERY_S = 0.1


class Unavailable(Exception):  # noqa: N818 - a state, not an error
    """The server cannot be reached now. The message is empty while it is too early to retry."""


class TelemetryConnection:
    """A connection to the server and its telemetry; adds its sessions' IDs to ``own_sessions``.

    ``openings`` counts how often it was opened. ``served`` counts the CPU time of the server's
    side; it is None where the kernel knows nothing of the server.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        telemetry: Telemetry,
        own_sessions: set[int],
        served: ServerCpuTime | None,
    ) -> None:
        self._connect = connect
        self.telemetry = telemetry
        self._connection: Connection | None = None
        self._wire: Connection | None = None  # set before the first query
        self._lock = threading.Lock()
        self._retry_in_s = RETRY_FIRST_S
        self._retry_at = 0.0
        self._note_served_at = 0.0
        self._is_hung_up = False
        self._own_sessions = own_sessions
        self._served = served
        self.openings = 0

    def call(self, read: Callable[[Connection], Answer]) -> Answer:
        """Return what ``read`` returns; its errors propagate.

        Raise :class:`Unavailable` if the connection is lost or cannot be opened.
        """
        connection = self._opened()
        try:
            answer = read(connection)
        except Exception as error:
            if not connection.closed:
                raise
            self._connection = None
            raise Unavailable(error_line(error)) from error
        self._note_served()
        return answer

    def _note_served(self) -> None:
        """Read the server's CPU time, lest it be lost with the session; at most every 0.1 s."""
        now = time.monotonic()
        if now >= self._note_served_at:
            self._note_served_at = now + NOTE_SERVED_EVERY_S
            self.served_ns()

    def served_ns(self) -> int | None:
        """Return the CPU time of the server's side so far; None where it cannot be read."""
        return None if self._served is None else self._served.read_ns()

    def _opened(self) -> Connection:
        if self._connection is not None:
            return self._connection
        if self._is_hung_up or time.monotonic() < self._retry_at:
            raise Unavailable("")
        self._retry_at = time.monotonic() + self._retry_in_s
        self._retry_in_s = min(self._retry_in_s * 2, RETRY_MAX_S)
        try:
            self._connection = self._open()
        except Unavailable:
            raise
        except Exception as error:
            raise Unavailable(error_line(error)) from error
        self._retry_in_s = RETRY_FIRST_S
        self.openings += 1
        return self._connection

    def _open(self) -> Connection:
        connection = self._connect()
        try:
            self._let_hang_up(connection)
            self.telemetry.begin(connection)
            self._own_sessions.add(self.telemetry.pid(connection))
            if self._served is not None:
                self._served.begin(self.telemetry.task(connection))
        except BaseException:
            connection.close()
            raise
        return connection

    def _let_hang_up(self, connection: Connection) -> None:
        """Register a connection for :meth:`hang_up`, which may have been called meanwhile."""
        with self._lock:
            if self._is_hung_up:
                raise Unavailable("")
            self._wire = connection

    def hang_up(self) -> None:
        """Interrupt the owner's query with an error, and refuse all later ones. For any thread."""
        with self._lock:
            self._is_hung_up = True
            connection = self._wire
        if connection is not None and not connection.closed:
            hang_up(connection)

    def close(self) -> None:
        """Close the connection, once its owner is done."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
