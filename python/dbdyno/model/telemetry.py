"""What telemetry records during a run: frames beside the engine's, and facts about the server.

Samples are frames of the same stream as the engine's, so that they survive a crash in the same way.
Instants are nanoseconds on the engine's monotonic clock, which is the clock of the host on which
telemetry runs. Nothing here is specific to one database: a source names itself and its columns, and
``analysis`` knows what they mean.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from dbdyno.model.fitting import fit

Level: TypeAlias = Literal["off", "basic", "full"]

TaskClass: TypeAlias = Literal[
    "client", "foreign", "telemetry", "cleanup", "writer", "wal", "logger", "worker", "rest"
]
"""What a process or thread of the server is there for.

``client`` serves a session of the load, ``foreign`` another client's, ``telemetry`` one of dbdyno
itself. ``cleanup`` is vacuum or purge, ``writer`` writes changed pages (checkpoints too), ``wal``
the log of changes, ``logger`` messages; ``worker`` works for others: I/O, parallel queries.
"""

# What a client of the engine was doing at an instant, in ``Activity.statements``. Smaller numbers
# are the statement that it had sent and was waiting for.
UNCONNECTED = 0xFFFF
IDLE = 0xFFFE
"""Nothing was due for it, or it was in the think time between two transactions."""
PAUSING = 0xFFFD
"""Within a transaction: its script slept, or executed a shell command."""
UNLISTED = 0xFFFC
"""It waited for something outside its script: a ROLLBACK after a failure, a cancellation."""

FIRST_LOCK_SAMPLE = 3
"""The first session sample with locks: the two before it show the cost of one without."""

NO_STATEMENT = -1
"""For a session that is not one of the engine's clients, or that waited for no statement."""

Doing: TypeAlias = Literal["asking", "pausing", "idle", "unconnected", ""]
"""What the engine reported about a client; empty for a session that is not a client."""


class Counts(Struct, frozen=True, tag="counts", tag_field="kind"):
    """One reading of one source of numbers, such as a statistics view or a file of the kernel.

    ``deltas`` are the increases of counters in the ``seconds`` before ``at_ns`` (0 for the first
    reading, which has none), ``levels`` the values at that instant: each (object, name, value),
    with an empty object if the source has one row. Deltas of 0 are left out, except for one when a
    counter of this name is first seen, which shows that the source has it. Levels that did not
    change are left out; the level of an object that has disappeared is 0. ``was_reset`` means that
    counters were reset since the last reading, or that the source was lost in between, so that the
    increases over these seconds are unknown and left out.
    """

    at_ns: int
    source: str
    seconds: float
    cost_us: int
    """Wall time of the reading on our side: the server's work and ours."""
    deltas: list[tuple[str, str, float]]
    levels: list[tuple[str, str, float]]
    was_reset: bool = False


class WaitCount(Struct, frozen=True, array_like=True):
    """The number of sessions that were alike in one sample.

    ``who`` is ``client`` (one of the engine's), ``foreign`` (another client of the server),
    ``unknown`` (one of the two, while clients of the engine connect) or the server's own term for
    one of its processes, such as ``autovacuum worker``. ``state`` is the server's (``active``,
    ``idle``, ``idle in transaction`` …), empty if it does not know the session. A session that is
    active and waits for nothing that the server knows of has an empty ``wait_type``: it is on a CPU
    or waits for one.
    """

    who: str
    statement: int
    doing: Doing
    state: str
    wait_type: str
    wait_event: str
    count: int


class BlockCount(Struct, frozen=True, array_like=True):
    """The number of sessions that waited for one lock behind the same blocker.

    The blocker is directly ahead of the waiter; the root is the end of the chain, which itself
    waits for no lock: ``root_state`` is its state and ``root_wait`` its wait event. ``lock`` is the
    kind of lock (``transactionid``, ``tuple``, ``relation`` …), ``relation`` the table's name,
    ``row`` the location of the row as the server writes it, or empty. ``waited_s`` is the sum over
    the waiters of the time waited so far, None if the server does not report it.
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
    """The number of steps from the waiter to the end of the chain."""
    count: int
    waited_s: float | None


class Waits(Struct, frozen=True, tag="waits", tag_field="kind"):
    """One sample of all sessions; it stands for ``seconds`` of the run.

    If it includes the locks, it also shows who waits for whom, for ``locks_seconds`` of the run;
    otherwise that is None.
    """

    at_ns: int
    seconds: float
    cost_us: int
    waits: list[WaitCount]
    blocking: list[BlockCount]
    locks_seconds: float | None = None


class LogEntry(Struct, frozen=True, tag="log_entry", tag_field="kind"):
    """A line of the server's log that matters for the run.

    ``topic`` is ``checkpoint_start``, ``checkpoint_end``, ``autovacuum``, ``autoanalyze``,
    ``deadlock``, ``lock_wait``, ``temporary_file``, ``aborted_connection``, ``start``, ``stop`` or
    ``error``; ``values`` are the values parsed from it, with units in their names.
    """

    at_ns: int
    topic: str
    severity: str
    message: str
    values: dict[str, float | str]


class Lack(Struct, frozen=True, tag="lack", tag_field="kind"):
    """A source that could not be read, or no longer, and the reason, for people."""

    at_ns: int
    source: str
    reason: str


SampleSource: TypeAlias = Literal["cpu-clock", "cycles"]


class ProfileFacts(Struct, frozen=True, kw_only=True, tag="profile_facts", tag_field="kind"):
    """What a profile is of: at its beginning, and again at its end.

    ``scope`` is ``machine`` or ``server`` (whatever runs there, the kernel included) or ``server
    without kernel``. ``source`` is ``cpu-clock``, a timer, or ``cycles`` of the processor, of which
    ``hz`` samples are 3·10⁹: they say nothing of time.
    """

    at_ns: int
    hz: int
    scope: str
    source: SampleSource = "cpu-clock"
    names_kernel: bool
    """Whether the functions of the kernel have names."""
    lost: int
    """Samples that the kernel had to drop."""


class ProfileFunction(Struct, frozen=True, array_like=True):
    """A function, or as much of one as is known.

    ``kind`` is ``named`` (its own name), ``near`` (that of its nearest neighbour in the object
    file), ``unnamed``, ``jit`` or ``kernel``, whose ``entry`` is how the process came into it.
    """

    function: int
    kind: str
    name: str
    object: str
    entry: str


class ProfileCounts(Struct, frozen=True, tag="profile", tag_field="kind"):
    """Samples of the server's processes in the second after ``at_ns``.

    ``functions`` are those that the run has not met before, ``counts`` each (class of the process,
    function, samples).
    """

    at_ns: int
    functions: list[ProfileFunction]
    counts: list[tuple[TaskClass, int, int]]


class TelemetryCost(Struct, frozen=True, tag="telemetry_cost", tag_field="kind"):
    """The cost of telemetry itself, from the start of the load to its end."""

    level: Level
    seconds: float
    cpu_us: int
    """User and system time of our own threads."""
    server_cpu_us: int | None
    """CPU time of the server's sessions that served telemetry; None if it cannot be read."""
    samples: int
    waits_hz: float
    """The average rate of session samples."""
    locks_hz: float
    """The average rate of lock samples."""


TelemetryFrame: TypeAlias = (
    Counts | Waits | LogEntry | Lack | ProfileFacts | ProfileCounts | TelemetryCost
)
_KINDS: dict[str, type[TelemetryFrame]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(TelemetryFrame)
}


def fit_frame(plain: Mapping[str, Any]) -> list[TelemetryFrame]:
    """Return a frame that has values of another kind than expected: the rest, and what it lacks.

    Raises :class:`KeyError` for what is no frame of telemetry.
    """
    kind, at_ns = _KINDS[str(plain.get("kind"))], plain.get("at_ns")
    source = plain.get("source", plain["kind"])
    lack = Lack(at_ns if isinstance(at_ns, int) else 0, str(source), "")
    odd = "were of another kind than expected, and are left out"
    try:
        whole, incomplete = fit(plain, kind)
    except ValidationError as error:
        return [replace(lack, reason=f"values {odd}: {error}")]
    return [whole, *(replace(lack, reason=f"some {name} {odd}") for name in incomplete)]


class IndexFacts(Struct, frozen=True, kw_only=True):
    """An index; ``columns`` include those of its expressions and predicate."""

    name: str
    columns: tuple[str, ...]
    is_unique: bool
    is_primary: bool
    bytes: int
    rows_share: float = 1.0
    """The share of the table's rows that it contains; less than 1 for a partial index."""


class TableFacts(Struct, frozen=True, kw_only=True):
    """A table that the run's statements use, or one of the partitions that contain its rows."""

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
    """The autovacuum settings of this table, by the names of its storage parameters."""
    assigned_by: tuple[str, ...] = ()
    """What assigns columns in an update besides the statement: ``trigger touch``."""
    partition_of: str = ""
    """The partitioned table, which has all the rows and no bytes of its own."""


class PlanFacts(Struct, frozen=True, kw_only=True):
    """The server's plan for a statement: the statement, and the plan as the server returned it.

    ``variant`` is ``generic`` (any values) or ``custom`` (for the values of one example). ``nodes``
    are its steps: (type, relation or empty, estimated rows). ``converted`` are columns (relation,
    column) that it cannot look up in an index, because it compares them in another type or
    collation than their own. ``compared`` are columns that a scan of the whole table compares with
    a value, if the server says so: known also for tables that only a view names. ``indexes`` names
    the index that each of the steps uses, or is empty for it. ``planning_ms`` is what planning it
    took, on the server before the load, with warm caches, if the server tells.
    """

    statement: int
    variant: str
    cost: float
    nodes: tuple[tuple[str, str, float], ...]
    text: str
    converted: tuple[tuple[str, str], ...] = ()
    compared: tuple[tuple[str, str], ...] = ()
    indexes: tuple[str, ...] = ()
    planning_ms: float | None = None


class ServerFacts(Struct, frozen=True, kw_only=True):
    """The properties of the server, taken before the load and after it.

    ``settings`` are all that rules need, default or not, in the server's own units.
    """

    settings: dict[str, str] = {}
    tables: tuple[TableFacts, ...] = ()
    plans: tuple[PlanFacts, ...] = ()
    is_debug_build: bool | None = None
    extensions: tuple[str, ...] = ()
    details: dict[str, Any] = {}


def facts_of(plain: Mapping[str, Any] | None) -> ServerFacts | None:
    """Return recorded facts as far as they fit; None if there are none, or they do not at all."""
    try:
        return fit(plain, ServerFacts).value if plain else None
    except ValidationError:
        return None
