"""What every server is to the rest of dbdyno, however it came to exist."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from dbdyno.model.plan import Endpoint
from dbdyno.servers.connecting import driver_of, open_connection, url_of
from dbdyno.servers.settings import Setting
from dbdyno.targets.connection import Connection

Use = Literal["existing", "private", "kept"]


def leave_running() -> None:
    """What ends our use of a server that is not ours to stop, or is to outlive us."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """A database server that answers, and the way to it.

    ``kind`` is ``existing`` (not ours), ``private`` (stopped when dbdyno ends, however it
    ends) or ``kept`` (ours, running until it is told to stop). What is not known of a server
    that is not ours is None. ``settings`` are those that dbdyno or its user chose for it.
    """

    kind: Use
    conninfo: str = field(repr=False)  # a URL, or libpq's words; may hold a password
    resolved: Endpoint = field(repr=False)
    process_id: int | None = None
    data_directory: Path | None = None
    log_path: Path | None = None
    settings: tuple[Setting, ...] = ()
    stopper: Callable[[], None] = field(default=leave_running, repr=False)

    @property
    def is_private(self) -> bool:
        """Whether dbdyno started it, and may vacuum, checkpoint and restart it."""
        return self.kind != "existing"

    @property
    def url(self) -> str:
        """Where it is, without the password: fit to be shown and kept."""
        return url_of(self.resolved)

    def endpoint(self) -> Endpoint:
        """How the engine reaches it. Holds the password, if there is one."""
        return self.resolved

    def connect(self) -> Connection:
        """A new control connection, in autocommit mode."""
        return open_connection(self.conninfo)

    def target_name(self, connection: Connection) -> str:
        """The target that describes the server at the other end of a control connection."""
        return driver_of(self.resolved.protocol).target_name(connection)

    def stop(self) -> None:
        """Ends a private server and removes its folder; leaves any other as it is."""
        self.stopper()

    def __enter__(self) -> Self:
        """The server, for as long as the block lasts."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops it, whatever happened."""
        self.stop()
