"""What observes server and host while the engine measures: telemetry, or nothing.

With ``--telemetry off``, and for a database without telemetry, there is no connection, no thread
and no file for it. The engine is told which thread serves which session, where only the server
knows it, so that it can run clients on the same cores.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Protocol

from dbdyno.databases.adapter import FreeConnections
from dbdyno.databases.connecting import open_connection
from dbdyno.databases.connection import Connection
from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Frame
from dbdyno.model.plan import Plan
from dbdyno.run.connected_server import ConnectedServer
from dbdyno.run.measure import Engine
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.plan import cores_available, profile_hz
from dbdyno.run.standbys.finding import Standby
from dbdyno.store.writer import RunWriter
from dbdyno.telemetry.recorder import Recorder, Watched

# One for the server's counters, one for its sessions, one to ask for the location of its log, one
# to ask where its standbys should be.
CONNECTIONS = 4


class Follower(Protocol):
    """Follows one run."""

    def take(self, frame: Frame) -> None:
        """Take a frame of the engine."""

    def served_by(self, tasks: Mapping[int, int]) -> None:
        """Take the task of this host that serves each session of the server."""

    def finish(self) -> None:
        """Note that the engine has ended."""


class _Nobody:
    """Records nothing."""

    def take(self, frame: Frame) -> None:
        """Ignore the frame."""

    def served_by(self, tasks: Mapping[int, int]) -> None:
        """Ignore the tasks."""

    def finish(self) -> None:
        """Do nothing."""


def watching(  # noqa: PLR0913 - independent inputs
    options: RunOptions,
    connected: ConnectedServer,
    plan: Plan,
    writer: RunWriter,
    *,
    standbys: Sequence[Standby] = (),
    knows_sessions: bool,
) -> AbstractContextManager[Follower]:
    """Record telemetry for the duration of the block; the server is asked before it begins.

    ``knows_sessions`` is whether the server's sessions are those of the engine's connections.
    """
    server, telemetry = connected.server, connected.target.telemetry
    if options.telemetry == "off" or telemetry is None:
        return nullcontext(_Nobody())
    with connected.target.understood("start telemetry"):
        telemetry.publish(connected.control)
        own_session = telemetry.pid(connected.control)
    free = connected.free_connections()
    is_room = free.count - plan.clients >= CONNECTIONS
    watched = Watched(
        level=options.telemetry,
        telemetry=telemetry,
        # Not to a server that has taken its place: that has other counters.
        connect=partial(open_connection, server.conninfo) if is_room else partial(_refuse, free),
        process_id=server.process_id,
        further_processes=server.further_processes,
        data_directory=server.data_directory,
        log_path=options.server_log or server.log_path,
        own_sessions=frozenset({own_session}),
        cores=cores_available(),
        profile_hz=profile_hz(options),
        reconnects=plan.reconnect_each_transaction,
        standbys={one.application_name or one.name: one.connect for one in standbys},
        knows_sessions=knows_sessions,
        scripts=tuple(script.text for script in plan.scripts),
    )
    return Recorder(watched, writer)


def _refuse(free: FreeConnections) -> Connection:
    """Refuse a connection for telemetry when the load needs all of them."""
    raise DbdynoError(
        "no_connection_left", f"the load uses all available connections ({free.reason})", free.hint
    )


def send_server_tasks(connected: ConnectedServer, engine: Engine, follower: Follower) -> None:
    """Ask a server on this host, once all clients are connected, and tell engine and follower.

    Without an answer the clients stay where they are.
    """
    telemetry = connected.target.telemetry
    is_here = connected.server.process_id is not None
    if not is_here or telemetry is None or telemetry.sessions_are_processes:
        return
    try:
        tasks = telemetry.tasks(connected.control)
    except Exception:  # whatever the error is, the run continues
        return
    engine.served_by(tasks)
    follower.served_by(tasks)
