"""What a target offers to whoever watches it: the shape of ``TARGET.telemetry``.

Words of one database stay below this line: sources name their columns as the database does,
sessions and locks come as plain values. Nothing here opens a connection, keeps time or adds
anything up; that is the layer ``telemetry``'s business.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from dbdyno.model.source import Missing, Source
from dbdyno.model.telemetry import LogEntry, ServerFacts
from dbdyno.targets.connection import Connection


class Session(Struct, frozen=True, array_like=True, gc=False):
    """One session or process of the server; ``kind`` is ``client`` or the server's word."""

    pid: int
    kind: str
    state: str
    wait_type: str
    wait_event: str
    text: str
    """The beginning of the statement it runs, or ran last."""


class Lock(Struct, frozen=True, array_like=True, gc=False):
    """A lock that a session holds or waits for. Equal ``thing`` is the same locked thing."""

    pid: int
    kind: str
    thing: Hashable
    mode: str
    granted: bool
    relation: str
    row: str
    waited_s: float | None


class LogReader(Protocol):
    """Makes entries of a server's log, which comes in pieces that may end within a line."""

    def feed(self, text: str) -> list[LogEntry]:
        """The entries that are complete; ``at_ns`` is Unix time, 0 where a line has none.

        An empty piece says that nothing came since the last one: what was held back, because
        more lines might belong to it, is then complete.
        """


class ScriptStatement(Struct, frozen=True):
    """A statement of a script, as the engine numbered it."""

    statement: int
    sql: str


@dataclass(frozen=True, kw_only=True)
class Telemetry:
    """How a database is watched.

    ``begin`` readies a connection of telemetry's own (short timeouts, nothing left behind).
    ``sources`` tries what the server has and gives the rest with reasons; what it can tell of
    single statements, it tells of these. ``sessions`` and ``locks`` are one snapshot each.
    ``conflicts`` tells whether two modes of a lock exclude each other. ``facts`` describes
    tables, indexes, plans and settings as they matter to these statements. ``log_path`` is
    where the server says its log is, if it says so.
    """

    begin: Callable[[Connection], None]
    sources: Callable[
        [Connection, Sequence[ScriptStatement]], tuple[list[Source[Connection]], list[Missing]]
    ]
    sessions: Callable[[Connection], list[Session]]
    locks: Callable[[Connection], list[Lock]]
    conflicts: Callable[[str, str], bool]
    facts: Callable[[Connection, Sequence[ScriptStatement]], ServerFacts]
    log_reader: Callable[[], LogReader]
    log_path: Callable[[Connection], Path | None]
    pid: Callable[[Connection], int]
    """The server's process of this connection."""
