"""The frames of a run, in the order in which they come.

From the engine's greeting to the frame with the totals that ends a run, or with its error.
"""

from msgspec import Struct
from msgspec.structs import force_setattr

from dbdyno.model.frame.measured import (
    Copied,
    Counters,
    Distribution,
    EngineInterval,
    FailureCount,
    ScriptInterval,
    ServerInterval,
    SlowTransaction,
    WindowScript,
    WorkerInterval,
)


class StatementInfo(Struct, frozen=True):
    """A statement of the plan's table; its ID is its position in the list."""

    script: int
    index: int
    line: int
    sql: str


class Hello(Struct, frozen=True, tag="hello", tag_field="kind"):
    """The engine accepted the plan."""

    pid: int
    """0 if engines on other hosts share the load, and none is here."""
    io: str
    """The backend in use: ``uring``, ``epoll`` or ``odbc``. If engines that share the load differ,
    all of theirs: ``epoll and uring``."""
    io_reason: str
    """The reason if it is not what ``auto`` prefers or what was requested; if the engines differ,
    that of each, with its name."""
    threads: int
    processors: int
    """How many CPUs its threads can use at once: at most those that this process may use."""
    statements: list[StatementInfo]
    warnings: list[str]
    counters: list[str] = []
    """The names of what the scripts count."""
    further_pids: list[int] = []
    """Processes of other engines on this host that share the load, and the commands that started
    engines here."""
    carrier_pids: list[int] = []
    """Processes on this host that carry the frames of engines elsewhere: ssh, or Ray's driver."""
    workers: list[str] = []
    """The names of the engines that share the load, if it is shared."""


class Connecting(Struct, frozen=True, tag="connecting", tag_field="kind"):
    """All threads of the engine are alive: sent every second until all clients are connected."""


class Connected(Struct, frozen=True, tag="connected", tag_field="kind"):
    """All clients are connected and their statements prepared."""

    clients: int
    connect: Distribution
    server_version: str
    tls: str
    """Protocol and cipher, or empty."""
    backend_pids: list[int]
    """Those of client 0, 1, …; 0 if the server did not report it."""


class Started(Struct, frozen=True, tag="started", tag_field="kind"):
    """The load begins, with the warm-up."""

    monotonic_ns: int
    unix_ns: int
    measure_begin_ns: int
    measure_end_ns: int | None


class Interval(Struct, frozen=True, tag="interval", tag_field="kind"):
    """One measurement interval. ``phase`` is ``warmup``, ``measure`` or ``drain``.

    ``completed_ok`` and ``completed_failed`` count every transaction that ended in the interval,
    whenever it was due. ``completed_committed`` are those of ``completed_ok`` that were committed:
    the throughput curve; ``copied`` is what these moved. ``counters`` are cumulative over the
    measured transactions. The distributions contain the measured transactions that ended in this
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
    """By statement ID."""
    failed_response: Distribution
    connects: Distribution
    """Connection attempts that ended in this interval (``-C``, and reconnects after a loss)."""
    engine: EngineInterval
    slowest: list[SlowTransaction]
    completed_committed: int = -1
    copied: Copied = Copied()
    rows: list[tuple[int, int]] = []
    """By statement ID: the rows that it returned, changed or found, and how many of its executions
    touched none; empty in frames of an older engine."""
    servers: list[ServerInterval] = []
    """By the number of the server, if there are several; those after the last one at which anything
    happened are missing."""
    workers: list[WorkerInterval] = []
    """What each of the engines counted that share the load, if it is shared: those that have
    ended, or are lost, are missing."""

    def __post_init__(self) -> None:
        """Older ones do not distinguish."""
        if self.completed_committed < 0:
            force_setattr(self, "completed_committed", self.completed_ok)


class Activity(Struct, frozen=True, tag="activity", tag_field="kind"):
    """What each client was doing at one of the plan's sampling instants; never stored.

    ``statements`` is packed little-endian u16 in the order of the clients: the statement that the
    client waits for, or one of the codes of ``model/telemetry.py``. ``backends`` is packed u32: the
    server's process number of its connection, 0 if there is none or the server did not report it.
    """

    at_ns: int
    statements: bytes
    backends: bytes


class Window(Struct, frozen=True, tag="window", tag_field="kind"):
    """Full-resolution histograms (3 significant digits) of about 10 s of measurement intervals.

    In a run of more than two hours they are of its 720th part, so that the run folder stays small.
    """

    begin_ns: int
    end_ns: int
    scripts: list[WindowScript]
    statements: list[bytes]


class Transactions(Struct, frozen=True, tag="transactions", tag_field="kind"):
    """Every measured transaction that ended in the interval whose frame follows; never stored.

    ``rows`` are packed little-endian: u32 client (the largest number if it was skipped), u16
    script, u16 fate (0 ended without an error, 1 skipped, 2 serialization failure, 3 deadlock, 4
    other failure), u32 tries, and in ns u64 due, u64 sent, u64 done. ``counted`` is what sysbench
    has counted of its script so far: reads, writes, other statements, errors, reconnects.
    """

    rows: bytes
    counted: list[int] = []


class OutageBegun(Struct, frozen=True, tag="outage_begun", tag_field="kind"):
    """A first connection was lost; an :class:`Outage` of the same thread will cover the whole."""

    at_ns: int
    message: str


class Outage(Struct, frozen=True, tag="outage", tag_field="kind"):
    """An outage: from the first connection lost to the first one regained (None: never).

    Each thread of the engine reports those of its own clients' connections. If each transaction has
    a connection of its own, one that is refused repeatedly counts as lost.
    """

    begin_ns: int
    end_ns: int | None
    connections_lost: int
    message: str


class Note(Struct, frozen=True, tag="note", tag_field="kind"):
    """A line for the log, from the ``server``, the ``script`` or the ``workers``.

    The server's notices: each thread of the engine reports the first five a second, and the number
    of the others. A script's line reports an error in its own report hook, and is also displayed.
    """

    at_ns: int
    source: str
    text: str


class Statement(Struct, frozen=True, tag="statement", tag_field="kind"):
    """A statement that appeared during the run: Lua scripts generate theirs as they run."""

    statement: int
    """Its ID: the next one in the list that :class:`Hello` began."""
    script: int
    sql: str
    """The form that its texts share: ``?`` for values, ``#`` for digits in names."""
    example: str = ""
    """The first of its texts, with ``$1``, ``$2`` … for parameters; truncated if very long."""
    connection: int = 0
    """The number of the client's connection that it is sent on."""
    server: int = 0
    """The number of the server at the other end, in the order of the plan's addresses."""


class ScriptProblem(Struct, frozen=True):
    """Why a script cannot run; ``line`` is 0 if no line is to blame."""

    line: int
    message: str


class Survey(Struct, frozen=True, tag="survey", tag_field="kind"):
    """What a Lua script declares about itself, without a server.

    ``is_parallel`` is for the requested command; ``has_init`` and ``has_done`` report whether there
    is something to do once before and after a run, as commands of those names.
    """

    problem: ScriptProblem | None
    commands: list[str]
    is_parallel: bool
    has_init: bool
    has_done: bool


class Done(Struct, frozen=True, tag="done", tag_field="kind"):
    """The run is over. ``end`` is ``complete``, ``interrupted``, ``aborted`` or ``stalled``.

    Histograms cover the whole measured part; ``measured_ns`` is its length. ``unfinished_ages_ns``
    are the ages of transactions that did not end within the grace period.
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
    """The engine's CPU time in the measured intervals."""
    lateness: bytes
    invalid_reasons: list[str]
    clients_moved: int = 0
    """How often a client moved to another thread, to be on the core that serves it."""
    tried_again: list[FailureCount] = []
    """Tries that failed and were retried; their counts add up to ``retries``."""
    counted: dict[str, int] = {}
    """What scripts counted in measured transactions that succeeded, by the name of the counter."""


class Failed(Struct, frozen=True, tag="failed", tag_field="kind"):
    """The engine cannot start or continue; ``code`` is a stable word."""

    code: str
    message: str
    hint: str
