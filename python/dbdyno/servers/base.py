"""The interface of every server to the rest of dbdyno, however the server came to exist."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from dbdyno.databases.connecting import open_connection, url_of
from dbdyno.databases.connection import Connection
from dbdyno.databases.identify import identify
from dbdyno.model.database import Database
from dbdyno.model.plan import Endpoint
from dbdyno.servers.settings import Setting

Use = Literal["existing", "private", "kept"]


def leave_running() -> None:
    """Do nothing: the stopper of servers that dbdyno may not stop, or that outlive dbdyno."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """A running database server, and how to reach it.

    ``kind`` is ``existing`` (not ours), ``private`` (stopped when dbdyno ends, however it ends) or
    ``kept`` (ours, running until a command stops it). Unknown properties of a server that is not
    ours are None. ``settings`` are those that dbdyno or its user chose for it.
    """

    kind: Use
    conninfo: str = field(repr=False)  # a URL or a libpq conninfo string; may contain a password
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
    def further_processes(self) -> list[int]:
        """The processes of its standbys, and of further servers of the load, on this host."""
        return []

    @property
    def begun_with(self) -> int:
        """With how many servers clients begin, in turn."""
        return 1

    @property
    def url(self) -> str:
        """Its URL without the password: may be shown and stored."""
        return url_of(self.resolved)

    def endpoint(self) -> Endpoint:
        """Return the endpoint for the engine. Contains the password, if there is one."""
        return self.resolved

    def connect(self) -> Connection:
        """Open a new control connection, in autocommit mode."""
        return open_connection(self.conninfo)

    def database(self, connection: Connection) -> Database:
        """Ask the server at the end of a control connection which database it is."""
        return identify(self.resolved.protocol, connection)

    def stop(self) -> None:
        """Stop a private server and remove its folder; leave any other as it is."""
        self.stopper()

    def __enter__(self) -> Self:
        """Return the server, for the duration of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it, whatever happened."""
        self.stop()
