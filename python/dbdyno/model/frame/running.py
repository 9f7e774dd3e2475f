"""The frames of a run, in the order in which they come.

From the engine's greeting to the whole that ends it, or the word that it failed.
"""

from msgspec import Struct

from dbdyno.model.frame.measured import (
    Counters,
    Distribution,
    EngineInterval,
    FailureCount,
    ScriptInterval,
    SlowTransaction,
    WindowScript,
)


class StatementInfo(Struct, frozen=True):
    """A statement of the plan's table; its id is its place in the list."""

    script: int
    index: int
    line: int
    sql: str


class Hello(Struct, frozen=True, tag="hello", tag_field="kind"):
    """The engine accepted the plan."""

    pid: int
    io: str
    """``uring`` or ``epoll``: what runs."""
    io_reason: str
    """Why, when it is not what ``auto`` prefers or what was asked."""
    threads: int
    processors: int
    """How many its threads can have at once: no more than this process may use."""
    statements: list[StatementInfo]
    warnings: list[str]


class Connecting(Struct, frozen=True, tag="connecting", tag_field="kind"):
    """All threads of the engine live: told every second until all clients are connected."""


class Connected(Struct, frozen=True, tag="connected", tag_field="kind"):
    """All clients are connected and their statements prepared."""

    clients: int
    connect: Distribution
    server_version: str
    tls: str
    """Protocol and cipher, or empty."""
    backend_pids: list[int]
    """Of client 0, 1, …; 0 where the server did not say."""


class Started(Struct, frozen=True, tag="started", tag_field="kind"):
    """The load begins; the warm-up first."""

    monotonic_ns: int
    unix_ns: int
    measure_begin_ns: int
    measure_end_ns: int | None


class Interval(Struct, frozen=True, tag="interval", tag_field="kind"):
    """One interval. ``phase`` is ``warmup``, ``measure`` or ``drain``.

    ``completed_ok`` and ``completed_failed`` count every transaction that ended in the
    interval, whenever it was due: the throughput curve. ``counters`` are cumulative over
    the measured ones. The distributions hold the measured transactions that ended in this
    interval (in the warm-up: all).
    """

    index: int
    phase: str
    begin_ns: int
    end_ns: int
    completed_ok: int
    completed_failed: int
    counters: Counters
    failures: list[FailureCount]
    scripts: list[ScriptInterval]
    statements: list[Distribution]
    """By statement id."""
    failed_response: Distribution
    connects: Distribution
    """Connects that ended in this interval (``-C``, and reconnects after a loss)."""
    engine: EngineInterval
    slowest: list[SlowTransaction]


class Activity(Struct, frozen=True, tag="activity", tag_field="kind"):
    """What each client was doing at one of the plan's sampling instants; never kept.

    ``statements`` is packed little-endian u16 in the order of the clients: the statement it
    awaited, or one of the words of ``model/telemetry.py``. ``backends`` is packed u32: the
    server's process of its connection, 0 where there is none or the server did not say.
    """

    at_ns: int
    statements: bytes
    backends: bytes


class Window(Struct, frozen=True, tag="window", tag_field="kind"):
    """Full-resolution histograms (3 significant digits) of about 10 s of measured intervals.

    In a run of more than two hours of its 720th part, so that its record stays small.
    """

    begin_ns: int
    end_ns: int
    scripts: list[WindowScript]
    statements: list[bytes]


class OutageBegun(Struct, frozen=True, tag="outage_begun", tag_field="kind"):
    """A first connection was lost; an :class:`Outage` of the same thread will tell the whole."""

    at_ns: int
    message: str


class Outage(Struct, frozen=True, tag="outage", tag_field="kind"):
    """From the first connection lost to the first one had again (None: never).

    Told by each thread of the engine for the connections of its own clients. Where each
    transaction has a connection of its own, one that is refused again and again is as one lost.
    """

    begin_ns: int
    end_ns: int | None
    connections_lost: int
    message: str


class Note(Struct, frozen=True, tag="note", tag_field="kind"):
    """A line for the log, by the ``server`` or by the ``script``.

    The server gives notices, of which each thread of the engine tells the first five of a second
    and how many more came; a script tells what went wrong in a report of its own, and people
    are told of it, too.
    """

    at_ns: int
    source: str
    text: str


class Statement(Struct, frozen=True, tag="statement", tag_field="kind"):
    """A statement that came up while running: scripts in Lua make theirs as they go."""

    statement: int
    """Its id: the next one of the list that :class:`Hello` began."""
    script: int
    sql: str
    """What all of its texts have in common: ``?`` for values, ``#`` for digits in names."""
    example: str = ""
    """The first of its texts, with ``$1``, ``$2`` … for parameters; a very long one is cut."""


class ScriptProblem(Struct, frozen=True):
    """Why a script cannot run; ``line`` 0 when that is not at a line of it."""

    line: int
    message: str


class Survey(Struct, frozen=True, tag="survey", tag_field="kind"):
    """What a script in Lua says of itself, without a server.

    ``is_parallel`` is of the command that was asked for; ``has_init`` and ``has_done`` say
    whether there is something to do once before and after a run, as commands of those names.
    """

    problem: ScriptProblem | None
    commands: list[str]
    is_parallel: bool
    has_init: bool
    has_done: bool


class Done(Struct, frozen=True, tag="done", tag_field="kind"):
    """The run is over. ``end`` is ``complete``, ``interrupted``, ``aborted`` or ``stalled``.

    Histograms are of the whole measured part; ``measured_ns`` is its length.
    ``unfinished_ages_ns`` are the ages of transactions that the grace did not see end.
    """

    end: str
    reason: str
    measured_ns: int
    counters: Counters
    failures: list[FailureCount]
    response: bytes
    service: bytes
    scripts: list[WindowScript]
    statements: list[bytes]
    failed_response: bytes
    unfinished_ages_ns: list[int]
    cpu_us: int
    """Engine CPU from first to last measured transaction."""
    lateness: bytes
    invalid_reasons: list[str]
    clients_moved: int = 0
    """How often one went to another thread, beside the server's process that serves it."""
    tried_again: list[FailureCount] = []
    """Tries that failed and were followed by another; their counts add up to ``retries``."""


class Failed(Struct, frozen=True, tag="failed", tag_field="kind"):
    """Nothing (more) can be done; ``code`` is a stable word."""

    code: str
    message: str
    hint: str
