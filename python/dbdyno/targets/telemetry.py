"""What a target offers to whoever watches it: the shape of ``TARGET.telemetry``.

Words of one database stay below this line: sources name their columns as the database does,
sessions and locks come as plain values. Nothing here opens a connection, keeps time or adds
anything up; that is the layer ``telemetry``'s business.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct

from dbdyno.model.source import Missing, Source
from dbdyno.model.telemetry import LogEntry, ServerFacts
from dbdyno.targets.connection import Connection


class Sessions(Struct, frozen=True):
    """Sessions or processes of the server that are alike in all but their process number.

    ``kind`` is ``client`` or the server's word. Whoever tells them puts together what is alike
    where that is cheaper than telling each; a session is in one group only.
    """

    pids: Sequence[int]
    kind: str
    state: str
    wait_type: str
    wait_event: str
    text: str
    """The beginning of the statement they run, or ran last."""
    tasks: Sequence[int] = ()
    """The kernel's number of each, where sessions are threads of one process and it is told."""


class Locks(Struct, frozen=True):
    """Sessions that hold or await one lock alike. Equal ``thing`` is the same locked thing.

    ``waited_s`` has an element for each of ``pids``, None where it is not known.
    """

    pids: Sequence[int]
    kind: str
    thing: Hashable
    mode: str
    granted: bool
    relation: str
    row: str
    waited_s: Sequence[float | None]


PendingSample: TypeAlias = Callable[[], tuple[list[Sessions], list[Locks]]]
"""A sample, made of the server's answer when it is called: of many together that is cheaper, and
the next query need not wait for it."""
SampleSessions: TypeAlias = Callable[[Connection], PendingSample]


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


def _no_tasks(_connection: Connection) -> Mapping[int, int]:
    return {}


def _counts_at_once(_connection: Connection) -> None:
    """Most servers count what a session does while it does it."""


@dataclass(frozen=True, kw_only=True)
class Telemetry:
    """How a database is watched.

    ``begin`` readies a connection of telemetry's own (short timeouts, nothing left behind).
    ``sources`` tries what the server has and gives the rest with reasons; what it can tell of
    single statements, it tells of these. ``sample_with_locks`` is one statement: all sessions but
    telemetry's, and, when one of them waits for a lock, the locks that have to do with waiting.
    ``sample_sessions`` has the same sessions without locks, where that is cheaper.
    ``conflicts`` tells whether two modes of a lock exclude each other. ``facts`` describes
    tables, indexes, plans and settings as they matter to these statements. ``log_path`` is
    where the server says its log is, if it says so. Samples of the sessions must be
    ``sample_interval_min_s`` apart, where a server shows old ones to who asks more often; and where
    ``samples_stop_locking``, what a sample takes is taken from everybody, on however many cores.
    """

    begin: Callable[[Connection], None]
    sources: Callable[
        [Connection, Sequence[ScriptStatement]], tuple[list[Source[Connection]], list[Missing]]
    ]
    sample_with_locks: SampleSessions
    conflicts: Callable[[str, str], bool]
    facts: Callable[[Connection, Sequence[ScriptStatement]], ServerFacts]
    log_reader: Callable[[], LogReader]
    log_path: Callable[[Connection], Path | None]
    pid: Callable[[Connection], int]
    """The server's number of this connection, as its sessions and locks have it."""
    task: Callable[[Connection], int | None]
    """The kernel's number of the process or thread that serves it, where the server tells.

    None, too, where that serves other sessions at the same time."""
    sample_sessions: SampleSessions | None = None
    sample_interval_min_s: float = 0.0
    samples_stop_locking: bool = False
    sessions_are_processes: bool = True
    """Whether each session is a process of the kernel's, too: then ``pid`` is ``task``."""
    tasks: Callable[[Connection], Mapping[int, int]] = _no_tasks
    """The kernel's numbers of the threads that serve sessions, by the server's numbers of these:
    as far as it tells, of sessions that are no processes."""
    publish: Callable[[Connection], None] = _counts_at_once
    """Has the server count now what this session did before the run: it would else do so within
    it, and what was done to load or to check the data would pass for work of the load."""
