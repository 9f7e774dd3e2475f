"""A running server with a control connection to it, as runs, loads and checks use it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from dbdyno.servers.base import Server
from dbdyno.targets.base import FreeConnections, ServerDescription, Target
from dbdyno.targets.connection import Connection
from dbdyno.targets.registry import find_target


@dataclass(frozen=True)
class ConnectedServer:
    """A server, a control connection to it, and the type of its database."""

    server: Server
    control: Connection
    target: Target

    def free_connections(self) -> FreeConnections:
        """Number of connections that the server still admits."""
        with self.target.understood("ask how many connections are free"):
            return self.target.free_connections(self.control)

    def description(self) -> ServerDescription:
        """Description of the server."""
        with self.target.understood("describe the server"):
            return self.target.describe(self.control)


@contextmanager
def connect_to(server: Server) -> Iterator[ConnectedServer]:
    """Connect to a running server, without limits on the time that statements may take.

    Errors of the driver that nobody inside the block has turned into ours are turned here.
    """
    with closing(server.connect()) as control:
        target = find_target(server.target_name(control))
        with target.understood("work with the server"):
            with target.understood("lift limits on the time of statements"):
                target.lift_time_limits(control)
            yield ConnectedServer(server, control, target)
