"""What telemetry sees while a run lasts: frames beside the engine's, and facts about the server.

Samples are frames of the same stream as the engine's, so that they survive a crash in the
same way. Instants are nanoseconds on the engine's monotonic clock, which is the clock of
the machine that telemetry runs on. No word here belongs to one database: a source names
itself and its columns, and ``analysis`` knows what they mean.
"""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

Level: TypeAlias = Literal["off", "basic", "full"]

# What a client of the engine was doing at an instant, in ``Activity.statements``. Smaller
# numbers are the statement it had asked for and not been answered.
UNCONNECTED = 0xFFFF
IDLE = 0xFFFE
"""Nothing was due for it, or it thought between two transactions."""
PAUSING = 0xFFFD
"""Within a transaction: its script slept, or a command of the shell ran."""
UNLISTED = 0xFFFC
"""It had asked something that no script says: a ROLLBACK after a failure, a cancellation."""

FIRST_LOCK_SAMPLE = 3
"""Of the samples of a run: the two before it have the sessions alone, and show what that takes."""

NO_STATEMENT = -1
"""Of a session that is not one of the engine's clients, or had asked for nothing."""

Doing: TypeAlias = Literal["asking", "pausing", "idle", "unconnected", ""]
"""The engine's word for one of its clients; empty for a session that is none."""


class Counts(Struct, frozen=True, tag="counts", tag_field="kind"):
    """One reading of one source of numbers, such as a statistics view or a file of the kernel.

    ``deltas`` are what counters grew by in the ``seconds`` before ``at_ns`` (0 for the first
    reading, which has none), ``levels`` what was at that instant: each (object, name, value),
    with an empty object where the source has one row. Deltas that are 0 are left out, but for
    one when a counter of this name is seen first, which says that the source has it. Levels that
    did not change are left out; what is not there any more has the level 0. ``was_reset``
    says that counters were set back since the last reading, or that the source was lost in
    between, so that the growth over these seconds is not known and not given.
    """

    at_ns: int
    source: str
    seconds: float
    cost_us: int
    """Wall time that the reading took on our side: the server's work and ours."""
    deltas: list[tuple[str, str, float]]
    levels: list[tuple[str, str, float]]
    was_reset: bool = False


class WaitCount(Struct, frozen=True, array_like=True):
    """So many sessions were seen alike.

    ``who`` is ``client`` (one of the engine's), ``foreign`` (another client of the server),
    ``unknown`` (one of the two, while clients of the engine connect) or the server's own word
    for a process of its own, such as ``autovacuum worker``.
    ``state`` is the server's (``active``, ``idle``, ``idle in transaction`` …), empty when it
    does not know the session. A session that is active and waits for nothing that the server
    knows of has an empty ``wait_type``: it is on a CPU or waits for one.
    """

    who: str
    statement: int
    doing: Doing
    state: str
    wait_type: str
    wait_event: str
    count: int


class BlockCount(Struct, frozen=True, array_like=True):
    """So many sessions waited for one lock behind the same blocker.

    The blocker stands directly before the waiter; the root is the end of the chain, which
    itself waits for no lock: ``root_state`` is its state and ``root_wait`` its wait event.
    ``lock`` is the kind of lock (``transactionid``, ``tuple``, ``relation`` …), ``relation``
    the table's name, ``row`` the place of the row as the server writes it, or empty.
    ``waited_s`` is the sum over the waiters of the time waited so far, None where the server
    does not say.
    """

    waiter_who: str
    waiter: int
    blocker_who: str
    blocker: int
    root_who: str
    root: int
    root_state: str
    root_wait: str
    lock: str
    mode: str
    relation: str
    row: str
    depth: int
    """How many sessions stand between the waiter and the end of the chain, and 1."""
    count: int
    waited_s: float | None


class Waits(Struct, frozen=True, tag="waits", tag_field="kind"):
    """One look at all sessions; it stands for ``seconds`` of the run.

    One at the locks, too, shows who is behind whom, of ``locks_seconds``: None where it was not.
    """

    at_ns: int
    seconds: float
    cost_us: int
    waits: list[WaitCount]
    blocking: list[BlockCount]
    locks_seconds: float | None = None


class LogEntry(Struct, frozen=True, tag="log_entry", tag_field="kind"):
    """A line of the server's log that says something about the run.

    ``topic`` is ``checkpoint_start``, ``checkpoint_end``, ``autovacuum``, ``autoanalyze``,
    ``deadlock``, ``lock_wait``, ``temporary_file``, ``aborted_connection``, ``start``, ``stop``
    or ``error``;
    ``values`` what could be read from it, with units in the names.
    """

    at_ns: int
    topic: str
    severity: str
    message: str
    values: dict[str, float | str]


class Lack(Struct, frozen=True, tag="lack", tag_field="kind"):
    """A source that could not be read, or not any more, and why, in words for people."""

    at_ns: int
    source: str
    reason: str


class TelemetryCost(Struct, frozen=True, tag="telemetry_cost", tag_field="kind"):
    """What telemetry itself took, from the load's begin to its end."""

    level: Level
    seconds: float
    cpu_us: int
    """User and system time of our own threads."""
    server_cpu_us: int | None
    """Of the server's sessions that served telemetry; None where it cannot be read."""
    samples: int
    waits_hz: float
    """How often the sessions were looked at, on average."""
    locks_hz: float
    """How often at the locks, too."""


TelemetryFrame: TypeAlias = Counts | Waits | LogEntry | Lack | TelemetryCost


class IndexFacts(Struct, frozen=True, kw_only=True):
    """An index; ``columns`` include those of its expressions and predicate."""

    name: str
    columns: tuple[str, ...]
    is_unique: bool
    is_primary: bool
    bytes: int
    rows_share: float = 1.0
    """Of the table's rows, those that it has: a partial index has not all."""


class TableFacts(Struct, frozen=True, kw_only=True):
    """A table that statements of the run use, or one of the partitions that hold its rows."""

    name: str
    rows: float
    bytes: int
    pages: int
    fillfactor: int
    row_bytes: float | None
    """Mean width of a row, from the server's statistics."""
    columns: tuple[str, ...]
    indexes: tuple[IndexFacts, ...]
    autovacuum: dict[str, str] = {}
    """What is set for autovacuum of this table alone, by the names of its storage parameters."""
    assigned_by: tuple[str, ...] = ()
    """What assigns columns in an update without a statement's word: ``trigger touch``."""
    partition_of: str = ""
    """The whole table whose partition it is. That one has all rows, and no bytes of its own."""


class PlanFacts(Struct, frozen=True, kw_only=True):
    """How the server means to carry out a statement: what was asked, and the plan as told.

    ``variant`` is ``generic`` (any values) or ``custom`` (for the values of one example).
    ``nodes`` name each step: (type, relation or empty, estimated rows).
    """

    statement: int
    variant: str
    cost: float
    nodes: tuple[tuple[str, str, float], ...]
    text: str


class ServerFacts(Struct, frozen=True, kw_only=True):
    """What the server is apart from what it does: taken before the load and after it.

    ``settings`` are all that rules ask for, default or not, in the server's own units.
    """

    settings: dict[str, str] = {}
    tables: tuple[TableFacts, ...] = ()
    plans: tuple[PlanFacts, ...] = ()
    is_debug_build: bool | None = None
    extensions: tuple[str, ...] = ()
    details: dict[str, Any] = {}
