"""A running server with a control connection to it, as runs, loads and checks use it."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from dbdyno.databases.adapter import Adapter, FreeConnections, ServerDescription
from dbdyno.databases.adapters import adapter_of
from dbdyno.databases.connecting import intermediaries
from dbdyno.databases.connection import Connection
from dbdyno.databases.intermediary import refuse_unusable
from dbdyno.errors import DbdynoError
from dbdyno.model.database import Database
from dbdyno.model.record import IntermediaryRecord
from dbdyno.servers.base import Server

LEAVING_MAX_S = 1.0
"""A busy server takes a moment to end a closed session, rarely longer than this."""
LEAVING_POLL_S = 0.02


@dataclass(frozen=True)
class ConnectedServer:
    """A server, a control connection to it, which database it is, and how that is used."""

    server: Server
    control: Connection
    database: Database
    target: Adapter

    def free_connections(self) -> FreeConnections:
        """Number of connections that the server still admits."""
        with self.target.understood("ask how many connections are free"):
            return self.target.free_connections(self.control)

    def intermediaries(
        self, further: Sequence[str], say: Callable[[str], None], *, prepares: bool
    ) -> list[IntermediaryRecord] | None:
        """Poolers and proxies in front of it and of ``further`` targets; None of our own servers.

        One through which statements fail that are prepared, if the load ``prepares`` any, or
        transactions is refused.
        """
        server = self.server
        if server.is_private:
            return None
        found = intermediaries(server.conninfo, self.control, server.endpoint(), further)
        refuse_unusable(found, prepares=prepares)
        for one in found:
            say(f"{one.target if further else 'the target'} leads through {one.title}")
        return found

    def description(self) -> ServerDescription:
        """Description of the server."""
        with self.target.understood("describe the server"):
            return replace(self.target.describe(self.control), database=self.database.name)


@contextmanager
def connect_to(server: Server) -> Iterator[ConnectedServer]:
    """Connect to a running server, without limits on the time that statements may take.

    Errors of the driver that nobody inside the block has turned into ours are turned here.
    """
    with closing(server.connect()) as control:
        database = server.database(control)
        target = adapter_of(database, server.endpoint().protocol)
        with target.understood("work with the server"):
            with target.understood("lift limits on the time of statements"):
                target.lift_time_limits(control)
            yield ConnectedServer(server, control, database, target)


def refuse_too_many(clients: int, free: Callable[[], FreeConnections]) -> None:
    """Refuse more clients than the server admits: they would fail one by one."""
    remaining = _once_all_left(clients, free)
    if clients > remaining.count:
        raise DbdynoError(
            code="too_many_clients",
            message=f"{clients} clients, but the server allows only {remaining.count} more "
            f"connections ({remaining.reason})",
            hint=remaining.hint,
        )


def _once_all_left(clients: int, free: Callable[[], FreeConnections]) -> FreeConnections:
    """Wait a moment: closed connections, such as ours, count until the server notices."""
    deadline = time.monotonic() + LEAVING_MAX_S
    while (remaining := free()).count < clients and time.monotonic() < deadline:
        time.sleep(LEAVING_POLL_S)
    return remaining
