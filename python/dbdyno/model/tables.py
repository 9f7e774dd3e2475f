"""The tables of a run folder: what a row of each means, and its columns with type and meaning.

A table is a class, and a column is an attribute of it, declared once: the writer, the reader, SQL
and the reference take from here what they need. ``model/run.py`` names the tables that a run has.

``time_s`` counts from the end of the warm-up, so the warm-up has negative times. Latencies are in
milliseconds with the engine's 3 significant digits, for which single precision is enough. Counters
of ``intervals`` are cumulative over the measured part, as the engine counts them (``is_rising``);
``completed_ok`` and the like refer to the single interval.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeAlias, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Column: TypeAlias = NDArray[Any]
Columns: TypeAlias = dict[str, Column]
"""The columns of a table by their names in files and in SQL; all have the same length."""


class ColumnType(Struct, frozen=True):
    """A column type in numpy and in SQL.

    A value that was not measured is NaN in numpy and NULL in the file. A whole number cannot be
    NaN: a column with unknown counts, which only imported runs have, is a masked array.
    """

    numpy: str
    sql: str


I32 = ColumnType("i4", "INTEGER")
U16 = ColumnType("u2", "USMALLINT")
U32 = ColumnType("u4", "UINTEGER")
U64 = ColumnType("u8", "UBIGINT")
F32 = ColumnType("f4", "FLOAT")
F64 = ColumnType("f8", "DOUBLE")
TEXT = ColumnType("O", "VARCHAR")
BOOL = ColumnType("?", "BOOLEAN")
BLOB = ColumnType("O", "BLOB")
STEPS = ColumnType("O", "STRUCT(statement UINTEGER, ms FLOAT)[]")
# Values that may be NULL, which arrays of their own type cannot express.
COUNT_OR_NULL = ColumnType("O", "BIGINT")
BOOL_OR_NULL = ColumnType("O", "BOOLEAN")

Schema: TypeAlias = Mapping[str, ColumnType]


class ColumnDeclaration(Struct, frozen=True, kw_only=True):
    """A column of a table as its class declares it."""

    kind: ColumnType
    meaning: str
    name: str = ""
    """In files and in SQL, if the attribute's name is another."""
    in_older: str | float | None = None
    """What stands for it in folders of an older dbdyno, which lack it: the column that they counted
    in its place, or a value. Without either, such a folder is damaged."""
    is_rising: bool = False
    """Whether it counts from the beginning of the measured part, and not within one interval."""
    comes_last: bool = False


def column(kind: ColumnType, meaning: str, **more: Any) -> Column:
    """Declare a column; ``more`` are fields of :class:`ColumnDeclaration`."""
    return cast("Column", ColumnDeclaration(kind=kind, meaning=meaning, **more))


class Table:
    """The rows of one table: each attribute is a column, and all have the same length.

    The docstring of a subclass says what a row means.
    """

    declared: ClassVar[dict[str, ColumnDeclaration]] = {}
    """The columns by attribute, in the order of the files."""
    schema: ClassVar[dict[str, ColumnType]] = {}
    rising_of: ClassVar[tuple[str, ...]] = ()
    """The columns whose combinations of values each have a series of rising counts."""

    def __init_subclass__(cls) -> None:
        """Collect the columns, those of the bases first."""
        found = {
            attribute: value
            for kind in reversed(cls.__mro__)
            for attribute, value in vars(kind).items()
            if isinstance(value, ColumnDeclaration)
        }
        cls.declared = dict(sorted(found.items(), key=lambda one: one[1].comes_last))
        cls.schema = {its.name or name: its.kind for name, its in cls.declared.items()}

    def __init__(self, columns: Columns) -> None:
        for attribute, name in zip(self.declared, self.schema, strict=True):
            setattr(self, attribute, columns[name])

    @classmethod
    def meaning(cls) -> str:
        """What a row of it is, as one paragraph."""
        return " ".join(str(cls.__doc__).split())

    def __len__(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns().values())))

    def columns(self) -> Columns:
        """The columns by their names in files and in SQL."""
        values = (getattr(self, attribute) for attribute in self.declared)
        return dict(zip(self.schema, values, strict=True))

    def where(self, wanted: NDArray[np.bool_]) -> Self:
        """The rows for which the mask is true."""
        return type(self)({name: values[wanted] for name, values in self.columns().items()})


def rows(*columns: Column) -> list[tuple[Any, ...]]:
    """Return columns of one table as rows of Python values."""
    return list(zip(*(values.tolist() for values in columns), strict=True))


_INSTANT = "instant, counted from the end of the warm-up: negative during it"
_SCRIPT = "number of the script, in the order of the command line, from 0"
_STATEMENT = "number of the statement in `statement_texts`"
_SOURCE = "name of the source"
_OBJECT = "what the source tells apart, such as a table or a process; or empty"
_NAME = "name, which ends in its unit if it has one"
_HISTOGRAM = "HdrHistogram V2, of nanoseconds"


def _counter(meaning: str, **more: Any) -> Column:
    """Declare a count of measured transactions, which rises during the run."""
    return column(U64, meaning, **({"is_rising": True, "in_older": 0} | more))


def _transactions(what: str, **more: Any) -> Column:
    return _counter(f"measured transactions that {what}", **more)


def _count(meaning: str) -> Column:
    return column(U64, meaning, in_older=0)


class Intervals(Table):
    """One measurement interval: the load, and the load generator itself.

    In imported runs, counts that the text does not tell are NULL.
    """

    interval = column(U32, "number of the interval, from 0")
    phase = column(
        TEXT, "`warmup`, `measure`, or `drain`: the grace period for transactions in flight"
    )
    time_s = column(F64, "beginning, counted from the end of the warm-up: negative during it")
    seconds = column(F64, "length")
    unix_s = column(F64, "beginning, in seconds since 1970")
    completed_ok = column(
        U32, "transactions that ran to their end in this interval, whenever they were due"
    )
    completed_committed = column(
        U32,
        "those of `completed_ok` that were committed: throughput",
        in_older="completed_ok",
    )
    completed_failed = column(U32, "transactions that failed in it")
    due = _transactions("became due")
    started = _transactions("were started")
    skipped = _transactions("were not started, because they would have been too late (`-L`)")
    waiting = _transactions("were due and not started when the interval ended", is_rising=False)
    ok = _transactions("ran to the end of their script without an error")
    failed = _transactions("failed, and were not retried")
    in_flight = _transactions("were in flight when the interval ended", is_rising=False)
    unfinished = _transactions("were cut off when the grace period was over")
    retried = _transactions("took more than one try")
    retries = _counter("tries of measured transactions after the first")
    late = _transactions("succeeded, but took longer than `-L`")
    committed = _transactions(
        "were committed; in older runs, which did not distinguish, all of `ok`", in_older="ok"
    )
    rolled_back = _transactions("ran to the end and were rolled back by their script")
    aborted = _transactions(
        "ran to the end and were rolled back by the server instead of committed"
    )
    left_open = _transactions("ran to the end and left their transaction open")
    copy_in_rows = _count("rows that its committed transactions copied to the server")
    copy_in_bytes = _count("bytes of these rows")
    copy_out_rows = _count("rows that its committed transactions copied from the server")
    copy_out_bytes = _count("bytes of these rows")
    cpu_us = _count("user and system time of the load generator")
    bytes_sent = _count("bytes sent to the server")
    bytes_received = _count("bytes received from it")
    round_trips = _count("requests sent whose answers were waited for")
    voluntary_switches = _count("context switches of the load generator because it waited")
    involuntary_switches = _count("context switches of the load generator because it was preempted")
    paused_us = _count(
        "for how long the load generator stood still: stopped, frozen or without CPU"
    )


class OfInterval(Table):
    """What happened in one interval."""

    interval = column(
        U32, "number of the interval in `intervals`; those of the warm-up are included"
    )


def _latency(word: str) -> Column:
    return column(F32, f"latency: {word}", comes_last=True)


class Latencies(OfInterval):
    """The latencies of one interval: all NaN if nothing was measured."""

    count = column(U32, "number of values", comes_last=True)
    mean_ms = _latency("mean")
    min_ms = _latency("minimum")
    p50_ms = _latency("median")
    p90_ms = _latency("90th percentile")
    p95_ms = _latency("95th percentile")
    p99_ms = _latency("99th percentile")
    p999_ms = _latency("percentile 99.9")
    p9999_ms = _latency("percentile 99.99")
    max_ms = _latency("maximum")


class Scripts(Latencies):
    """Transactions of one script that ended in one interval, with their response times."""

    script = column(U16, _SCRIPT)
    ok = column(U32, "transactions that ran to the end of their script without an error")
    committed = column(U32, "those of `ok` that were committed; in older runs all", in_older="ok")
    failed = column(U32, "transactions that failed")
    skipped = column(
        U32, "transactions that were not started, because they would have been too late"
    )


class Services(Latencies):
    """Service times of one script in one interval.

    Only where they differ from response times: in an open loop, with a connection for each
    transaction, or with fewer executors than clients.
    """

    script = column(U16, _SCRIPT)


class Statements(Latencies):
    """Latency of one statement in one interval, and the rows that it touched."""

    statement = column(U32, _STATEMENT)
    rows = column(
        F64,
        "rows that it returned, changed or, by an update that changed nothing, found; NULL in "
        "older runs",
        in_older=math.nan,
    )
    executions_without_rows = column(
        F64, "executions that touched no row; NULL in older runs", in_older=math.nan
    )


class FailedLatencies(Latencies):
    """Response times of the failed transactions of one interval."""


class Connects(Latencies):
    """Connection attempts that ended in one interval: with `-C`, and reconnects."""


class Lateness(Latencies):
    """How late transactions of one interval were sent although a client was idle.

    It is the load generator's own delay, in an open loop.
    """


class WorkerIntervals(Latencies):
    """One interval of one of the agents that shared the load (`--workers`), with response times.

    An agent has no rows from when it was lost, or had ended. In other runs the table is empty.
    """

    worker = column(TEXT, "name of the agent, as in `workers[]` of the record")
    time_s = column(F64, _INSTANT)
    seconds = column(F64, "length")
    completed_ok = column(U32, "transactions that ran to their end in this interval")
    completed_committed = column(U32, "those of `completed_ok` that were committed: throughput")
    completed_failed = column(U32, "transactions that failed in it")
    in_flight = column(U32, "measured transactions that were in flight when the interval ended")
    lateness_p99_ms = column(
        F32,
        "99th percentile of how late transactions were sent although a client was idle: the "
        "agent's own delay, in an open loop; NULL if there were none",
    )
    cpu_us = column(U64, "user and system time of the agent")
    waited_us = column(
        U64, "for how long its threads were ready to run and had no CPU, added up over them"
    )
    paused_us = column(U64, "for how long it stood still: stopped, frozen or without CPU")


class ServerIntervals(OfInterval):
    """What happened in an interval at one of several servers. Of one server the table is empty."""

    server = column(U16, "number of the server: its place in `servers[]` of the record")
    completed_committed = column(U32, "transactions that were committed there in this interval")
    completed_failed = column(U32, "transactions that failed there")
    connects = column(U32, "connections that were made to it")
    connects_failed = column(U32, "attempts to connect to it that failed")
    connections_lost = column(U32, "connections to it that broke")


class Buckets(OfInterval):
    """One coarse bucket of a distribution in one interval."""

    bucket = column(U16, "number of the bucket, an eighth of an octave", comes_last=True)
    count = column(U32, "number of values", comes_last=True)


class ScriptBuckets(Buckets):
    """One coarse bucket of a script's response times in one interval."""

    script = column(U16, _SCRIPT)


class ServiceBuckets(Buckets):
    """The same of service times, where they differ."""

    script = column(U16, _SCRIPT)


class StatementBuckets(Buckets):
    """The same of a statement's latency."""

    statement = column(U32, _STATEMENT)


class Failures(OfInterval):
    """Failed transactions of one class and code, as counted in one interval."""

    rising_of = ("class", "code")

    failure_class = column(
        TEXT, "kind of error: `serialization`, `deadlock`, `lock_timeout` …", name="class"
    )
    code = column(TEXT, "SQLSTATE, or the error number of MySQL and MariaDB")
    count = column(U64, "failed transactions", is_rising=True)
    message = column(TEXT, "the first message of this class and code")
    unknown = column(
        U64,
        "those that may have been committed: the answer to their commit did not come",
        is_rising=True,
        in_older=0,
    )


class Slowest(OfInterval):
    """One of the slowest transactions of an interval, or the slowest of its script."""

    script = column(U16, _SCRIPT)
    client = column(U32, "number of the client, from 0")
    number = column(U64, "number of the transaction: of its client, in an open loop of all clients")
    time_s = column(F64, "when it was due")
    response_ms = column(F32, "done − due")
    service_ms = column(F32, "done − sent")
    tries = column(U32, "number of tries")
    statements = column(STEPS, "the statements of its last try in order, with their latencies")


_NUMBER = "number of the script or statement; 0 if `kind` has only one"


class Windows(Table):
    """A full histogram of about ten seconds."""

    time_s = column(F64, "beginning")
    seconds = column(F64, "length")
    kind = column(TEXT, "`script_response`, `script_service` or `statement`")
    number = column(U32, _NUMBER)
    histogram = column(BLOB, _HISTOGRAM)


class Totals(Table):
    """A full histogram of the measured part, the warm-up left out."""

    kind = column(
        TEXT, "`response`, `service`, `failed_response`, `lateness`, or a kind of `windows`"
    )
    number = column(U32, _NUMBER)
    histogram = column(BLOB, _HISTOGRAM)


def _printed(meaning: str) -> Column:
    return column(F64, meaning)


class Progress(Table):
    """One line that another tool printed while it ran, of imported runs: its figures as they stand.

    NULL is what the line does not say. ``intervals`` and ``scripts`` are made of these lines.
    """

    line = column(U32, "line of the text, from 1")
    time_s = column(F64, "its time, as far as it is printed counted from the beginning of the run")
    tps = _printed("transactions per second")
    mean_ms = _printed("latency: mean")
    stddev_ms = _printed("latency: standard deviation")
    percentile = _printed("which percentile `percentile_ms` is, in percent")
    percentile_ms = _printed("latency: this percentile")
    lag_ms = _printed("how late transactions were started, on average")
    failed = _printed("transactions that failed")
    skipped = _printed("transactions that were not started")
    retried = _printed("transactions that took more than one try")
    retries = _printed("tries after the first")
    threads = _printed("threads, which are sysbench's clients")
    queries_per_s = _printed("statements per second")
    reads_per_s = _printed("statements that read, per second")
    writes_per_s = _printed("statements that write, per second")
    others_per_s = _printed("other statements, per second")
    errors_per_s = _printed("errors that the tool ignored, per second")
    reconnects_per_s = _printed("new connections after an error, per second")
    queue_length = _printed("transactions that were due and not started")
    concurrency = _printed("transactions in progress")


class Outages(Table):
    """One outage, as the clients of one thread of the load generator saw it."""

    time_s = column(F64, "when the first connection was lost")
    seconds = column(F64, "length; NULL if no connection was regained")
    connections_lost = column(U32, "number of connections lost")
    message = column(TEXT, "the first error")


class StatementTexts(Table):
    """One statement of the scripts."""

    statement = column(U32, "number of the statement, from 0")
    script = column(U16, _SCRIPT)
    index = column(U32, "position among the commands of the script, from 0")
    line = column(U32, "line in the script; 0 for statements of Lua scripts")
    sql = column(TEXT, "text; of Lua scripts with `?` for values")
    connection = column(
        U64,
        "number of the client's connection that it was sent on: 0 is the first, and a Lua script "
        "may open more",
        in_older=0,
    )
    server = column(
        U64,
        "number of the server that it was sent to, among those of `--target` and "
        "`--further-target`; 0 for statements that are not of Lua scripts",
        in_older=0,
    )


class Samples(Table):
    """One reading of a source of telemetry."""

    time_s = column(F64, _INSTANT)
    source = column(
        TEXT, "name of the source; `waits` and `locks` for samples of sessions and locks"
    )
    seconds = column(
        F64,
        "seconds since the reading before, 0 for the first; of `waits` and `locks` those of the "
        "run for which the sample stands",
    )
    cost_ms = column(F32, "time that the reading took")
    was_reset = column(
        BOOL,
        "whether increases are unknown, because counters were reset or the source could not be "
        "read",
    )


class Counters(Table):
    """The increase of one counter between two readings of its source.

    An increase of 0 is left out, but for the first reading that could have one: it shows that
    the counter exists.
    """

    time_s = column(
        F64,
        "instant of the reading; the increase is over the `seconds` before it, which `samples` has",
    )
    source = column(TEXT, _SOURCE)
    object = column(TEXT, _OBJECT)
    name = column(TEXT, _NAME)
    delta = column(F64, "increase")


class Levels(Table):
    """A value at the instant of a reading, if it differs from that of the reading before."""

    time_s = column(F64, _INSTANT)
    source = column(TEXT, _SOURCE)
    object = column(TEXT, _OBJECT)
    name = column(TEXT, _NAME)
    value = column(F64, "value; 0 if the object has disappeared")


class Waits(Table):
    """Sessions that were alike in one session sample.

    They stand for the `seconds` of the sample: the row of `samples` with the same `time_s` and
    the source `waits`.
    """

    time_s = column(F64, _INSTANT)
    who = column(
        TEXT,
        "`client` (of this run), `foreign` (another client), `unknown` (one of the two, while "
        "clients connect), or the server's term for one of its processes",
    )
    statement = column(
        I32, "the statement that a client waits for; −1 for none and for other sessions"
    )
    doing = column(
        TEXT,
        "what a client was doing, by the load generator: `asking` (it waits for the server), "
        "`pausing`, `idle`, `unconnected`; empty for other sessions",
    )
    state = column(
        TEXT, "session state, in the server's terms; empty if it does not know the session"
    )
    wait_type = column(
        TEXT,
        "kind of the wait; empty if the server knows of none: an active session is then on a CPU "
        "or waits for one",
    )
    wait_event = column(TEXT, "what is waited for")
    count = column(U32, "sessions")


class Blocking(Table):
    """Sessions that waited for one lock behind the same blocker in one lock sample.

    They stand for the `seconds` of that sample, whose source is `locks`.
    """

    time_s = column(F64, _INSTANT)
    waiter_who = column(TEXT, "who waits, as `who` in `waits`")
    waiter = column(I32, "the statement that waits; −1 if it is not one of the scripts")
    blocker_who = column(TEXT, "who is directly ahead of it")
    blocker = column(I32, "the statement of the blocker, or −1")
    root_who = column(TEXT, "who is at the end of the chain, and waits for no lock")
    root = column(I32, "the statement of the root, or −1")
    root_state = column(TEXT, "the session state of the root")
    root_wait = column(
        TEXT, "what the root waits for; empty if for nothing that the server knows of"
    )
    lock = column(
        TEXT, "kind of the lock, in the server's terms: `transactionid`, `tuple`, `relation` …"
    )
    mode = column(TEXT, "mode of the lock that is waited for")
    relation = column(TEXT, "the table")
    row = column(TEXT, "the row, as the server writes its location; or empty")
    depth = column(U16, "number of steps from the waiter to the root")
    count = column(U32, "waiting sessions")
    waited_s = column(
        F64, "time waited so far, summed over the waiters; NULL if the server does not tell"
    )


class LogEntries(Table):
    """One line of the server's log that matters for the run."""

    time_s = column(F64, _INSTANT)
    topic = column(TEXT, "`checkpoint_end`, `autovacuum`, `deadlock`, `error` …")
    severity = column(TEXT, "severity, in the server's terms")
    message = column(TEXT, "message")
    values = column(TEXT, "what was parsed from the message: a JSON object with units in the names")


class ProfileCounts(Table):
    """How often the server's processes of one class were sampled in one function in a second.

    Samples are taken at the profile's frequency on each CPU while a process runs there: n samples
    at f Hz are n/f seconds of CPU time.
    """

    time_s = column(F64, "beginning of the second, counted from the end of the warm-up")
    task_class = column(
        TEXT,
        "what the process or thread is there for: `client` (a session of the load), `foreign` "
        "(another session), `telemetry`, `cleanup` (vacuum, purge), `writer` (pages, checkpoints), "
        "`wal`, `logger`, `worker` (I/O, parallel queries) or `rest`",
        name="class",
    )
    function = column(U32, "number of the function in `profile_functions`")
    samples = column(U32, "samples")


class ProfileFunctions(Table):
    """One function that a sample of the profile met, or as much of one as is known."""

    function = column(U32, "number of the function, from 0")
    kind = column(
        TEXT,
        "`named`, `near` (without a name in the object file: called after its nearest neighbour), "
        "`unnamed`, `jit` (compiled while the server ran) or `kernel`",
    )
    name = column(TEXT, "name of the function, or of its neighbour; empty if neither is known")
    object = column(TEXT, "name of the object file; empty for the kernel and compiled code")
    entry = column(
        TEXT,
        "how the process came into the kernel: system call, handler of a fault or interrupt",
    )


class Lacks(Table):
    """A source that could not be read, or no longer."""

    time_s = column(F64, _INSTANT)
    source = column(TEXT, _SOURCE)
    reason = column(TEXT, "the reason")
