"""What a target provides for telemetry: the structure of ``TARGET.telemetry``.

What is specific to one database stays in its target: sources name their columns as the database
does, sessions and locks are returned as plain values. Nothing here opens a connection, measures
time or adds anything up; that is the task of the layer ``telemetry``.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct

from dbdyno.databases.connection import Connection
from dbdyno.engine import Dialect
from dbdyno.model.source import Missing, Numbers, Source
from dbdyno.model.telemetry import LogEntry, ServerFacts, TaskClass


class Sessions(Struct, frozen=True):
    """Sessions or processes of the server that are alike in all but their process number.

    ``kind`` is ``client`` or the server's own term. Targets group equal sessions where that is
    cheaper than returning each; a session is in one group only.
    """

    pids: Sequence[int]
    kind: str
    state: str
    wait_type: str
    wait_event: str
    text: str
    """The beginning of the statement that they run or ran last."""
    tasks: Sequence[int] = ()
    """The kernel's ID of each, if sessions are threads of one process and the server reports it."""


class Locks(Struct, frozen=True):
    """Sessions that hold or await a lock in the same way. An equal ``thing`` is the same object.

    ``waited_s`` has an element for each of ``pids``, None if it is not known.
    """

    pids: Sequence[int]
    kind: str
    object_key: Hashable
    mode: str
    granted: bool
    relation: str
    row: str
    waited_s: Sequence[float | None]


PendingSample: TypeAlias = Callable[[], tuple[list[Sessions], list[Locks]]]
"""Builds the sessions and locks of a sample from the server's answer, when they are needed:
building many together is cheaper, and the next sample need not wait for it."""
SampleSessions: TypeAlias = Callable[[Connection], PendingSample]


class LogReader(Protocol):
    """Parses a server's log, whose text comes in pieces that may end within a line."""

    def feed(self, text: str) -> list[LogEntry]:
        """Return the entries that are complete; ``at_ns`` is Unix time, 0 if a line has none.

        An empty piece means that nothing was added since the last one: an entry that was held back
        because more lines might belong to it is then complete.
        """


class ScriptStatement(Struct, frozen=True):
    """A statement of a script, as the engine numbered it.

    ``numbers`` are the variables that its script sets to numbers: they are sent as such.
    """

    statement: int
    sql: str
    numbers: frozenset[str] = frozenset()


TaskClasses: TypeAlias = Sequence[tuple[TaskClass, str]]
"""Classes of the server's tasks, each with a regular expression for what such a task calls itself;
the first that is found counts."""


def _no_tasks(_connection: Connection) -> Mapping[int, int]:
    return {}


def _counts_at_once(_connection: Connection) -> None:
    """Do nothing: most servers count a session's work while it is done."""


class StandbyLag(Protocol):
    """Measures how far one standby is behind its primary."""

    def read(self, primary: Connection, standby: Connection) -> Numbers:
        """Return ``lag_bytes`` and ``replay_lag_s``, as far as they are known."""


class SourceUnavailableError(Exception):
    """A source is not available, and why."""


@dataclass(frozen=True, kw_only=True)
class Telemetry:
    """How telemetry reads a database.

    ``begin`` prepares a connection of telemetry's own (short timeouts, nothing left behind).
    ``sources`` tries what the server has and returns the rest with reasons; sources of single
    statements cover the given ones. ``sample_with_locks`` is one query: all sessions except
    telemetry's and, if one of them waits for a lock, the locks involved in waiting.
    ``sample_sessions`` returns the same sessions without locks, if that is cheaper. ``conflicts``
    returns whether two lock modes exclude each other. ``facts`` describes the tables, indexes,
    plans and settings that matter to the given statements. ``log_path`` is where the server says
    that its log is, if it does. Session samples must be ``sample_interval_min_s`` apart, for a
    server that returns old data if it is queried more often. If ``samples_stop_locking``, the time
    of a sample is lost on all cores.
    """

    dialect: Dialect
    """Whose grammar the statements are read by."""
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
    """The server's ID of this connection, as in its sessions and locks."""
    task: Callable[[Connection], int | None]
    """The kernel's ID of the process or thread that serves it, if the server reports it.

    None also if that serves other sessions at the same time.
    """
    sample_sessions: SampleSessions | None = None
    sample_interval_min_s: float = 0.0
    samples_stop_locking: bool = False
    sessions_are_processes: bool = True
    """Whether each session is a process of its own: then ``pid`` is ``task``."""
    tasks: Callable[[Connection], Mapping[int, int]] = _no_tasks
    """The kernel's IDs of the threads that serve sessions, by the server's session IDs, as far as
    the server reports them; for sessions that are not processes."""
    task_classes: TaskClasses = ()
    """By the titles of processes or, if sessions are none, by the names of threads. Those that
    serve sessions are ``foreign``, as far as they can be told by their names."""
    standby_lag: Callable[[], StandbyLag] | None = None
    """Makes what measures a standby, for a server that does not itself know how far its standbys
    are behind."""
    publish: Callable[[Connection], None] = _counts_at_once
    """Makes the server publish the counts of what this session did before the run. Otherwise they
    would appear within it, and loading or checking the data would seem to be work of the load."""
