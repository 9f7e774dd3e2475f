"""Who watches server and machine while the engine measures: telemetry, or nobody.

With ``--telemetry off`` there is no connection, no thread and no file of it.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from dbdyno.model.frame import Frame
from dbdyno.run.options import RunOptions
from dbdyno.run.plan import cores_available
from dbdyno.run.scene import Scene
from dbdyno.store import RunWriter
from dbdyno.telemetry.recorder import Recorder, Watched


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
    if options.telemetry == "off":
        return nullcontext(_Nobody())
    server, telemetry = scene.server, scene.target.telemetry
    watched = Watched(
        level=options.telemetry,
        telemetry=telemetry,
        connect=server.connect,
        process_id=server.process_id,
        data_directory=server.data_directory,
        log_path=options.server_log or server.log_path,
        own_sessions=frozenset({telemetry.pid(scene.control)}),
        cores=cores_available(),
    )
    return Recorder(watched, writer)
