"""The record of one run: the object of ``run --json`` and of ``run.json`` in the run folder.

Users' scripts read these names, so they are stable: a new field changes nothing for them, and a
field that changes its meaning raises ``FORMAT_VERSION``. The record contains what was measured and
concluded, never how to draw it. The text below a field is its description in the reference.
"""

from typing import Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import force_setattr

FORMAT_VERSION = 1

Status: TypeAlias = Literal["running", "done", "failed", "interrupted"]
Severity: TypeAlias = Literal["note", "minor", "major", "critical"]
Certainty: TypeAlias = Literal["sure", "likely", "hint"]
ShareOf: TypeAlias = Literal["client time", "lost throughput", "response time", ""]


class TransactionCounts(Struct, frozen=True, kw_only=True):
    """Transactions that became due in the measured part, under the names of ``intervals``.

    None: not known, which happens only in imported runs.
    """

    ok: int
    """Transactions that ran to their end without an error."""
    committed: int = -1
    """Those of ``ok`` that were committed, which throughput and costs count; in older runs, where
    it was not distinguished, all."""
    rolled_back: int | None = 0
    """Those of ``ok`` that their script rolled back."""
    aborted: int | None = 0
    """Those of ``ok`` whose COMMIT the server answered by rolling back."""
    left_open: int | None = 0
    """Those of ``ok`` that ended within a transaction block."""
    failed: int | None
    """Transactions that failed, and were not retried."""
    skipped: int | None
    """Transactions that were not started, because they would have been too late (``-L``)."""
    unfinished: int | None
    """Transactions that were cut off when the grace period was over."""
    waiting: int | None = 0
    """Transactions that were due and not started when the run ended."""
    late: int | None = 0
    """Those of ``ok`` that took longer than ``-L``."""
    retried: int | None
    """Transactions that took more than one try."""

    def __post_init__(self) -> None:
        """Older ones do not distinguish."""
        if self.committed < 0:
            force_setattr(self, "committed", self.ok)

    @property
    def ended(self) -> int | None:
        """Those that succeeded or failed; None if it is not known how many failed."""
        return None if self.failed is None else self.ok + self.failed


class CopyRecord(Struct, frozen=True, kw_only=True):
    """Rows that COPY moved in one direction, in committed transactions of the measured part."""

    rows: int
    """Rows, as the server counts them."""
    bytes: int
    """Bytes of the rows, as sent."""
    rows_per_s: float
    """Rows per second."""
    bytes_per_s: float
    """Bytes per second."""


class FailureRecord(Struct, frozen=True, kw_only=True):
    """Failures of one class and code."""

    failure_class: str = field(name="class")
    """The kind of error: ``serialization``, ``deadlock``, ``lock_timeout`` …"""
    code: str
    """The SQLSTATE, or the error number of MySQL and MariaDB."""
    count: int
    """Failures of this class and code."""
    by_script: dict[str, int] = {}
    """The same by the name of the script; empty in older runs, and in runs that were ended by
    force."""
    message: str
    """The first message seen."""
    statement: str = ""
    """The statement that failed with this message, if it is known."""
    took_s: float | None = None
    """The total time of the tries that failed so; None in older runs, and in runs that were ended
    by force."""
    unknown: int = 0
    """Those that may have been committed all the same: the connection broke before the answer to
    their COMMIT, or to a statement that commits itself."""


class Throughput(Struct, frozen=True, kw_only=True):
    """Transactions a second.

    The interval says how precisely the run knows its own mean, not how far the next run will
    differ.
    """

    value: float
    """Transactions that were committed in the measured time, divided by it."""
    low: float | None
    """Lower end of the interval; None if there are too few samples for one."""
    high: float | None
    """Upper end of it."""
    min: float | None
    """The lowest TPS of a measurement interval."""
    max: float | None
    """The highest."""
    interval: Literal["within-run 95 %"] = "within-run 95 %"
    """What ``low`` and ``high`` are: the 95 % interval within this run, with autocorrelation taken
    into account."""
    samples: int
    """The number of measurement intervals."""
    samples_effective: float | None
    """As many independent samples would give the same interval."""
    coefficient_of_variation: float | None
    """Standard deviation of the measurement intervals' TPS around the mean of their stage, divided
    by the mean of all."""


class RateRecord(Struct, frozen=True, kw_only=True):
    """How often transactions of one kind ended, with its 95 % interval within this run."""

    value: float
    """Transactions that became due in the measured time and ended without an error, also those
    that their script rolled back, divided by it."""
    low: float | None
    """Lower end of the interval; None if there are too few samples for one."""
    high: float | None
    """Upper end of it."""


class AuditRecord(Struct, frozen=True, kw_only=True):
    """Whether a run did what the definition of its workload demands, in one respect."""

    name: str
    """What is audited."""
    unit: Literal["share", "each", "ms"]
    """Of its numbers: a share from 0 to 1, a mean of many, or milliseconds."""
    value: float | None
    """The value of this run; None if there was none of what it is about."""
    low: float | None
    """The least that is allowed; None if there is no such bound."""
    high: float | None
    """The most that is allowed; None if there is no such bound."""
    count: int
    """The number of transactions, lines or the like that the value is about."""
    ok: bool | None
    """Whether the value is allowed; None if there were too few to tell."""


class CheckRecord(Struct, frozen=True, kw_only=True):
    """What was found of a condition that holds for the data at every instant."""

    id: str
    """The ID of the condition."""
    claim: str
    """The condition, in words."""
    ok: bool
    """Whether it held, each time that it was read."""
    rows: int
    """The number of rows that break it."""
    example: dict[str, int | str | None] | None
    """The first of them: its keys, and the values that disagree."""
    times: int = 1
    """How often it was read, each time in one snapshot with the others."""
    rows_before: int | None = None
    """The number of rows that broke it before the load, of a condition that only serializable
    transactions promise; None of all others."""
    broken_at_s: float | None = None
    """When it was first found broken, in seconds since the load began; None if that was after the
    run, or never."""


class Latency(Struct, frozen=True, kw_only=True):
    """A distribution of times in milliseconds; None if nothing was measured.

    One of its numbers is None only in imported runs: their tool did not print it.
    """

    mean: float
    """Mean."""
    p50: float | None
    """Median."""
    p90: float | None
    """90th percentile."""
    p95: float | None
    """95th percentile."""
    p99: float | None
    """99th percentile."""
    p999: float | None
    """Percentile 99.9."""
    p9999: float | None
    """Percentile 99.99."""
    max: float | None
    """Maximum."""


class StageRecord(Struct, frozen=True, kw_only=True):
    """One stage of a load that changes in stages: what was requested, and how it went.

    Every measured number of a stage that the run did not reach is None.
    """

    duration_s: float
    """The length requested."""
    clients: int | None
    """The clients requested; None if the stages change the rate."""
    rate_tps: float | None
    """The rate requested; None if the stages change the clients."""
    tps: float | None
    """Transactions that were committed, per second."""
    failed_per_s: float | None
    """Transactions that failed, per second."""
    p50_ms: float | None
    """Median over the measurement intervals of their median response times."""
    p99_ms: float | None
    """Median over the measurement intervals of their 99th percentiles."""


class IsolationRecord(Struct, frozen=True, kw_only=True):
    """How the transactions of the clients are isolated, as the server said before the load.

    A script that names a level when it begins its transactions has that one.
    """

    level: str
    """The isolation level in force: ``read-committed``, ``repeatable-read`` …"""
    is_requested: bool
    """Whether ``--isolation`` asked for it; else it is the default of the server, the database or
    the user."""
    access_mode: Literal["read write", "read only"]
    """Whether transactions may write."""


class NetworkDelayRecord(Struct, frozen=True, kw_only=True):
    """What a proxy added to the round trips of a run.

    A byte was sent through it again and again while the load ran.
    """

    requested_ms: float
    """What ``--network-delay`` asked for."""
    p50_ms: float
    """Median of the round trips that were measured, the proxy's own work included."""
    p95_ms: float
    """95th percentile of them."""
    count: int
    """How many were measured."""


class FailoverRecord(Struct, frozen=True, kw_only=True):
    """What an event (``--event``) cost: until the next event, or until the end.

    Times after the event count from ``at_s``. A few clients beside the load, the witness, commit
    numbered rows all the time: they saw the first error and the first commit, and what was
    acknowledged to them is compared with the data at the end. The rest is of the load.
    """

    event: str
    """What happened, as it was requested."""
    at_s: float
    """When it began, counted from the end of the warm-up."""
    took_ms: float | None = None
    """How long it took: until the server had started again, the cut or the command was over; None
    if it failed."""
    error: str = ""
    """Why it failed."""
    first_error_ms: float | None = None
    """When the witness first saw an error; None if it saw none."""
    first_commit_ms: float | None = None
    """When a commit of the witness was first acknowledged after that; None if none was."""
    longest_pause_ms: float | None = None
    """The longest time in which no commit of the witness was acknowledged, also where they only
    waited, without an error."""
    level_tps: float | None = None
    """The load's throughput before: in the ten seconds before the event, as far as they were
    measured and the load had recovered from the events before; None if it had not."""
    level_90_ms: float | None = None
    """The end of the first measurement interval, once there were commits again, with at least 90 %
    of that throughput; 0 if no interval until then, and until it was over, had less, None if there
    was none, or if that throughput is not known."""
    failed_by_class: dict[str, int] = {}
    """Failed transactions of the load."""
    unknown: int = 0
    """Transactions of the load among them that may have been committed."""
    acknowledged: int = 0
    """Commits of the witness that were acknowledged since the event before, until the server was
    gone: up to the first commit after the error."""
    lost: int | None = None
    """Those of them that the data lacks; None if it could not be read."""
    lost_ms: float | None = None
    """For how long before the server was gone commits were lost: since the first that is
    missing."""
    loss_allowed_ms: float | None = None
    """For how long before that the settings allow commits to be lost: 0 if none may be, None if
    they promise nothing: also after a command, unless the same server is known to answer."""


class StandbyRecord(Struct, frozen=True, kw_only=True):
    """A standby: how far it was behind its primary, and what readers saw there.

    The lag is from telemetry, once a second. A probe beside the load commits numbers
    on the primary, and reads each of them on the standby as soon as it is acknowledged.
    """

    name: str
    """``standby 1`` of a private server; its URL; or the name under which the primary lists it."""
    application_name: str = ""
    """Under which the primary lists it; empty if that is not known."""
    clients: int = 0
    """How many clients have their connection for scripts of the role ``read`` there."""
    lag_bytes_p50: float | None = None
    """Bytes of the log that it had not replayed yet, in the median."""
    lag_bytes_max: float | None = None
    """The most of them."""
    replay_lag_p50_ms: float | None = None
    """How long it took to replay, in the median: until the primary heard of it, or, of a primary
    that is not told (MariaDB), until the standby had what the primary had at the reading."""
    replay_lag_max_ms: float | None = None
    """The longest."""
    probed: int = 0
    """Commits of the probe that were acknowledged, and then looked for."""
    stale_share: float | None = None
    """The share of them that the first read after the acknowledgement did not see."""
    staleness_p50_ms: float | None = None
    """How long an acknowledged commit was not seen, in the median; 0 if the first read saw it."""
    staleness_p99_ms: float | None = None
    """The same, 99th percentile."""
    staleness_max_ms: float | None = None
    """The longest; a lower bound if ``unseen``."""
    unseen: int = 0
    """Commits that were not seen until the load ended."""


class ScriptRecord(Struct, frozen=True, kw_only=True):
    """One script's share of the run."""

    name: str
    """Its name."""
    weight: int
    """Its weight among the scripts."""
    ok: int
    """Transactions that ran to their end without an error."""
    committed: int | None = None
    """Those of ``ok`` that were committed; None in older runs."""
    failed: int | None
    """Transactions that failed, and were not retried; None if an imported text does not say."""
    skipped: int | None
    """Transactions that were not started, because they would have been too late (``-L``); None if
    an imported text does not say."""
    response_ms: Latency | None
    """Response times, from the instant at which a transaction was due."""
    service_ms: Latency | None
    """Service times, from the instant at which it was sent."""


class StatementRecord(Struct, frozen=True, kw_only=True):
    """The latency of one statement."""

    script: str
    """The name of its script."""
    index: int
    """Its position among the commands of the script, from 0."""
    sql: str
    """Its text; of Lua scripts with ``?`` for values."""
    count: int | None
    """The number of latencies measured; None if an imported text does not say."""
    rows: int | None = None
    """Rows that it returned, changed or, by an update that changed nothing, found; None in older
    runs."""
    executions_without_rows: int | None = None
    """Executions that touched no row; None in older runs."""
    mean_ms: float | None
    """Mean."""
    p50_ms: float | None
    """Median."""
    p95_ms: float | None
    """95th percentile."""
    p99_ms: float | None
    """99th percentile."""
    as_text: str = ""
    """Why its values are written into its text although the query mode has parameters; empty if it
    is sent as the query mode says."""
    connection: int = 0
    """The number of its client's connection: 0 is the first; a sysbench script may open more."""
    server: int = 0
    """The number of the server it was sent to, in ``servers``; 0 for statements that are not of
    sysbench scripts."""


class ServerRecord(Struct, frozen=True, kw_only=True):
    """One of several servers to which the load went: what happened there while it was measured."""

    name: str
    """Its URL without the password, or ``standby 1`` of a private server."""
    takes_writes: bool
    """Whether it took writes when the run began."""
    transactions: int = 0
    """Transactions that were committed there in the measured time."""
    tps: float = 0.0
    """Those per second: those of all servers add up to the throughput."""
    failed: int = 0
    """Transactions that failed there after the warm-up, as in what follows."""
    connects: int = 0
    """Connections that clients made to it."""
    connects_failed: int = 0
    """Their attempts to connect to it that failed."""
    connections_lost: int = 0
    """Their connections to it that broke."""


class WorkerRecord(Struct, frozen=True, kw_only=True):
    """One of the agents that shared the load (``--workers``), on this host or another."""

    name: str
    """Its name: the kind of its place and its number, or that of its host."""
    host: str
    """What its host calls itself."""
    clients: int
    """The number of its clients."""
    threads: int
    """The number of its threads."""
    transactions: int
    """Its transactions of the measured part that ran to their end without an error; of a lost one
    as far as they were reported."""
    tps: float | None
    """Its part of the run's throughput: transactions that were committed while it was measured, per
    second; None if it was lost. If none was lost, those of all add up to the throughput."""
    response_ms: Latency | None
    """The response times of ``transactions``; None if it was lost without an end. One whose own
    load was given up, while others went on, is lost and has told them."""
    cpu_us_per_transaction: float | None
    """Its CPU time per committed transaction; None as ``response_ms``."""
    clock_offset_us: float
    """By how much its clock was ahead of this host's when the load began."""
    clock_bound_us: float
    """By how much that may be wrong at most: half of the quickest round trip to it."""
    clock_drift_us: float = 0.0
    """By how much the clocks went apart until its end, at least: what the bounds do not explain."""
    begun_late_us: float | None
    """How long after the common beginning the last of its threads began; None if it was lost before
    that."""
    lost_at_s: float | None
    """When it was lost, in seconds since the load began; None if it took part to the end."""


class ClientCost(Struct, frozen=True, kw_only=True):
    """What the load cost the load generator."""

    cpu_us_per_transaction: float | None
    """CPU time of the load generator per transaction."""


class CostRecord(Struct, frozen=True, kw_only=True):
    """What one committed transaction cost, in a resource that noise hardly affects."""

    id: str
    """The ID of the cost, the same on every kind of server."""
    title: str
    """What it is, in words."""
    unit: str
    """Its unit; empty for a number."""
    side: Literal["server", "client", "network"]
    """Where it arose."""
    value: float
    """The cost per transaction."""
    low: float | None
    """Lower end of the 95 % interval within this run."""
    high: float | None
    """Upper end of it."""
    script: str = ""
    """The script whose transactions these are; empty for all together."""
    window: Literal["load", "measured"] = "measured"
    """What is counted: the whole load from its first transaction to its last, or that in the
    measured intervals (after a warm-up, and where a reading is missing)."""


class ProcessorPart(Struct, frozen=True, kw_only=True):
    """A part of the CPU time that the server used, per committed transaction."""

    processes: str
    """Whose it is: the processes (or threads) of one kind."""
    subsystem: str = ""
    """What for, in the words of the reference; empty for all of these processes."""
    function: str = ""
    """The function that ran; empty for all of a subsystem. One without a name is called after the
    nearest one before it that has one: ``near heap_insert``."""
    file: str = ""
    """The file that the function is in; for one of the kernel, how the process came into it."""
    us: float
    """Microseconds of CPU time per transaction."""
    low: float | None
    """Lower end of the 95 % interval within this run."""
    high: float | None
    """Upper end of it."""
    share: float
    """Its share of the CPU time of all of the server's processes."""


class ServerProfile(Struct, frozen=True, kw_only=True):
    """Where the server's CPU time went, from a profile that was sampled while it ran."""

    source: Literal["cpu-clock", "cycles"] = "cpu-clock"
    """What took the samples: ``cpu-clock``, a timer, or ``cycles`` of the processor."""
    sampled_s: float
    """CPU seconds in the measured part, by the samples; of cycles, with a clock of 3 GHz."""
    counted_s: float | None
    """The same as the kernel counted them for the server's processes; None if it is not known."""
    processes: list[ProcessorPart]
    """By kind of process, the largest first."""
    subsystems: list[ProcessorPart]
    """By kind of process and subsystem, the largest first."""
    functions: list[ProcessorPart]
    """The functions that used most, the largest first; those of little are left out."""


class Finding(Struct, frozen=True, kw_only=True):
    """A claim about a run with its evidence, from one rule."""

    id: str
    """The ID of the rule."""
    title: str
    """The rule's title."""
    severity: Severity
    """How much the cause matters."""
    summary: str
    """The claim in one sentence: cause first, number second."""
    evidence: dict[str, Any]
    """The numbers behind it, by name."""
    seen: list[str] = []
    """What was observed, each a sentence with its numbers."""
    why: str = ""
    """Why it matters."""
    share: float | None = None
    """The part of ``share_of`` that the cause accounts for; None if the rule cannot bound it."""
    share_of: ShareOf = ""
    """What ``share`` is a part of."""
    certainty: Certainty = "hint"
    """*sure* if two independent kinds of evidence agree, *likely* with one kind, else *hint*."""
    advice: list[str] = []
    """What to try, each a sentence."""
    gain: str = ""
    """What that would gain, as far as it can be bounded."""
    refute: str = ""
    """The experiment that would refute the claim, as a command if there is one."""
    wrong_when: str = ""
    """When this rule may be wrong."""


class UnevaluatedRule(Struct, frozen=True, kw_only=True):
    """A rule that could not be evaluated, and what it would have needed."""

    id: str
    """The ID of the rule."""
    title: str
    """The rule's title."""
    reason: str
    """What it would have needed, and why that was missing."""


class PrintedFigure(Struct, frozen=True, kw_only=True):
    """A figure of another tool's text, as it stands there."""

    name: str
    """What it is, in the tool's words."""
    value: float | int | str
    """The figure: with all its digits if it is a number."""
    unit: str = ""
    """Its unit; empty for a number, and for words."""
    of: str = ""
    """The script or statement that it is about; empty if it is about the run."""
    line: int
    """The line of the text where it stands, from 1."""


class ImportRecord(Struct, frozen=True, kw_only=True):
    """Where an imported run comes from, and everything that its text says of it."""

    tool: str
    """What measured it: ``pgbench``, ``sysbench`` …"""
    version: str
    """The tool's version: as printed, or those of which the wording is (``9.5 to 13``); empty if
    neither tells."""
    source: str
    """The file; ``-`` for standard input."""
    first_line: int
    """The line where its text begins, from 1."""
    last_line: int
    """The line where it ends."""
    is_complete: bool
    """Whether the text has its end; else it was cut off."""
    is_dated: bool = False
    """Whether the text says when the run began."""
    command: str = ""
    """The tool's command line if the text has it, without passwords."""
    clients: int | None = None
    """The number of clients; None if the text does not say, and so are the others."""
    threads: int | None = None
    """The number of threads."""
    scale: int | None = None
    """The scale of the data."""
    query_mode: str | None = None
    """The query mode, in the tool's word."""
    loop: Literal["closed", "open"] | None = None
    """Whether each client waits for its transactions, or transactions come at a rate."""
    rate_tps: float | None = None
    """The rate that was requested."""
    figures: list[PrintedFigure] = []
    """Every figure of the summary, in the order of the text. What the tool printed while it ran is
    in the table ``progress``."""


class IntermediaryRecord(Struct, frozen=True, kw_only=True):
    """What lies between dbdyno and a server, as their connection shows it."""

    target: str
    """The server's target, without password."""
    kind: Literal["pooler", "proxy"]
    """``pooler``: the session that answers is not the one that the login named; ``proxy``: the
    server sees a client elsewhere, as behind a proxy or a translation of addresses (NAT)."""
    product: str = ""
    """Its name, with its version if it tells; empty if it does not say."""
    mode: Literal["session", "transaction", "statement"] | None = None
    """For how long a pooler lends a session to a client; None if that does not show."""
    keeps_prepared: bool | None = None
    """Whether a client of a pooler finds its prepared statements again; None if that is not
    known."""
    seen: list[str] = []
    """What showed it, each a statement."""

    @property
    def title(self) -> str:
        """What it is: ``PgBouncer 1.18.0, a pooler in transaction mode``."""
        mode = f" in {self.mode} mode" if self.mode else ""
        what = f"a pooler{mode}" if self.kind == "pooler" else "a proxy or translated addresses"
        return f"{self.product}, {what}" if self.product else what


class RunRecord(Struct, frozen=True, kw_only=True):
    """One measured load on one target.

    While the run lasts, only the fields known beforehand are set.
    """

    format_version: int = FORMAT_VERSION
    """Raised if a field changes its meaning. A new field does not raise it."""
    run_id: str
    """The name of the run's folder."""
    status: Status
    """How the run ended; ``running`` while it lasts."""
    started_at: str
    """When it began, in UTC: ISO 8601. Of an imported run whose text does not say, when it was
    imported."""
    workload: str
    """The name of the workload or of the scripts."""
    target: str
    """The database, without password."""
    further_targets: list[str] = []
    """Further servers, on which connections were spread in turn. Data, invariants, settings and
    telemetry are those of ``target`` alone."""
    intermediaries: list[IntermediaryRecord] | None = None
    """The poolers and proxies in front of the servers, as far as they show; None if nobody looked:
    in older runs, and of private servers."""
    servers: list[ServerRecord] = []
    """All servers to which the load went, if there are several, by their numbers in other fields
    and tables: ``target``, further ones, and at last the standbys that are read."""
    server: dict[str, Any] = {}
    """``product``, its ``title`` for people, ``version``, durability level (``promise``) and, once
    it has been measured, ``cpu_us_per_transaction``. All settings are in ``server.json`` beside the
    record."""
    seed: int | None
    """The seed of everything that was drawn at random; None of imported runs."""
    imported: ImportRecord | None = None
    """Of a run that another tool measured: what its text says. None of runs of dbdyno's own."""
    command: list[str] = []
    """The arguments of ``dbdyno run``, without passwords."""
    dbdyno_version: str = ""
    """The version of dbdyno that made the run; empty in older runs."""
    tags: dict[str, str] = {}
    """The tags (``--tag``)."""
    valid: bool | None = None
    """Whether the run is valid; None until it is known."""
    invalid_reasons: list[str] = []
    """Why it is not valid, each a sentence."""
    disk_full: bool = False
    """Whether it is not valid and the disk of the server's data was full: the run then says nothing
    about its options."""
    doubts: list[str] = []
    """What a reader of its numbers should know, each a sentence."""
    invariants_read: list[str] = []
    """The numbers that the workload's invariants were checked against; empty if nothing was
    checked."""
    audit: list[AuditRecord] = []
    """Whether the run kept what the definition of its workload demands: its mix and its response
    times; empty if the workload has no such demands, and in runs with your own scripts."""
    counted: dict[str, int] = {}
    """What the workload's scripts counted by name, in transactions that were measured and
    succeeded."""
    checks: list[CheckRecord] = []
    """The conditions of the workload's data that were read, during the run or after it; a broken
    one makes the run invalid, unless its isolation level does not promise it."""
    duration_s: float | None = None
    """The measured time."""
    isolation: IsolationRecord | None = None
    """The isolation of transactions; None if it is not known how to ask for it, and in older
    runs."""
    network_delay: NetworkDelayRecord | None = None
    """What made the network slower than it is; None if nothing did."""
    failovers: list[FailoverRecord] = []
    """What the events of ``--event`` cost, in their order."""
    standbys: list[StandbyRecord] = []
    """The standbys of the server, as far as dbdyno knows of them."""
    stages: list[StageRecord] = []
    """Empty if the load did not change: its numbers are then the run's."""
    scripts: list[ScriptRecord] = []
    """The scripts, in the order of the command line."""
    transactions: TransactionCounts | None = None
    """How the transactions of the measured part ended."""
    failures: list[FailureRecord] = []
    """The failed transactions by class and code."""
    tried_again: list[FailureRecord] = []
    """Tries that failed and were retried, known once the run is done."""
    throughput_tps: Throughput | None = None
    """Throughput, with its interval."""
    nopm: RateRecord | None = None
    """New orders a minute, of ``tpcc``; None for other workloads."""
    mqth: RateRecord | None = None
    """Qualified transactions a second, of ``tatp``: those that the definition counts, which are all
    but refused inserts; None for other workloads."""
    queries_per_hour: RateRecord | None = None
    """Queries of analysts an hour, of ``ch``; None for other workloads and without analysts."""
    efficiency: float | None = None
    """``nopm``, divided by what its clients could order if no transaction took any time; None if
    they do not pause as the definition says."""
    copy_in: CopyRecord | None = None
    """What ``copy … from stdin`` moved to the server; None if nothing."""
    copy_out: CopyRecord | None = None
    """What ``copy … to stdout`` moved from the server; None if nothing."""
    response_ms: Latency | None = None
    """Response times of the transactions that succeeded, from the instant at which each was due."""
    service_ms: Latency | None = None
    """Service times, from the instant at which each was sent; in a closed loop the same."""
    statements: list[StatementRecord] = []
    """The statements, in the order of the scripts."""
    workers: list[WorkerRecord] = []
    """The agents that shared the load (``--workers``); empty if one engine had all of it."""
    client: ClientCost | None = None
    """What the load cost the load generator."""
    costs: list[CostRecord] = []
    """What one committed transaction cost, by resource."""
    server_processes: list[ProcessorPart] = []
    """The server's CPU time by kind of process, as the kernel counts it; empty if not known."""
    server_profile: ServerProfile | None = None
    """Where the server's CPU time went; None if it was not profiled."""
    findings: list[Finding] = []
    """What limits throughput, the most important first."""
    not_looked: list[UnevaluatedRule] = []
    """Rules that could not be evaluated."""
    unexplained: float | None = None
    """The share of client time that no finding accounts for."""
    unexplained_as: dict[str, float] = {}
    """Its parts by kind of client time, the largest first."""
    telemetry: dict[str, Any] = {}
    """``level``, the cost of telemetry itself, and in ``lacks`` what could not be read."""
