"""Who watches server and machine while the engine measures: telemetry, or nobody.

With ``--telemetry off``, and for a database that dbdyno cannot watch, there is no connection,
no thread and no file of it.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Protocol

from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Frame
from dbdyno.run.options import RunOptions
from dbdyno.run.plan import client_count, cores_available
from dbdyno.run.scene import Scene
from dbdyno.store.writer import RunWriter
from dbdyno.targets.base import FreeConnections
from dbdyno.targets.connection import Connection
from dbdyno.telemetry.recorder import Recorder, Watched

# One for the server's numbers, one for its sessions, one to ask where its log is.
CONNECTIONS = 3


class Follower(Protocol):
    """Follows one run."""

    def take(self, frame: Frame) -> None:
        """What the engine said."""

    def finish(self) -> None:
        """The engine has gone."""


class _Nobody:
    """Watches nothing."""

    def take(self, frame: Frame) -> None:
        """Is not interested."""

    def finish(self) -> None:
        """Has nothing to add."""


def watching(
    options: RunOptions, scene: Scene, writer: RunWriter
) -> AbstractContextManager[Follower]:
    """Watches for as long as the block lasts."""
    server, telemetry = scene.server, scene.target.telemetry
    if options.telemetry == "off" or telemetry is None:
        return nullcontext(_Nobody())
    telemetry.publish(scene.control)
    free = scene.free_connections()
    is_room = free.count - client_count(options) >= CONNECTIONS
    watched = Watched(
        level=options.telemetry,
        telemetry=telemetry,
        connect=server.connect if is_room else partial(_refuse, free),
        process_id=server.process_id,
        data_directory=server.data_directory,
        log_path=options.server_log or server.log_path,
        own_sessions=frozenset({telemetry.pid(scene.control)}),
        cores=cores_available(),
    )
    return Recorder(watched, writer)


def _refuse(free: FreeConnections) -> Connection:
    """Where the load needs all connections, telemetry must not take one of them."""
    raise DbdynoError(
        "no_connection_left", f"the load uses all available connections ({free.reason})", free.hint
    )
