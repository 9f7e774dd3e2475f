"""The options of a run: one field for each option, with its flag, default and meaning.

The command line and its manual page are built from this class; studies fill it from their files.
Declares what each option is; ``run/plan.py`` decides which combinations are allowed.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dbdyno.fleet.words import OnLost, Workers, worker_list
from dbdyno.model.database import Promise
from dbdyno.model.plan import Io, IsolationLevel, QueryMode, Stage, Think
from dbdyno.model.telemetry import Level
from dbdyno.run.events.planned import PlannedEvent, planned_event
from dbdyno.run.options import grammar
from dbdyno.run.options.parameters import (
    LIMITS,
    LOAD,
    OUTPUT,
    PLACEMENT,
    TARGET,
    TELEMETRY,
    WORK,
    each,
    flag,
    pairs,
    parsed,
    place,
    span,
    whole,
    worded,
)
from dbdyno.servers.placement import Cpus, NumaPolicy, cpus, numa_policy

SECOND_NS = 1_000_000_000
BETWEEN_TARGETS = re.compile(r",(?=[a-z]+://)", re.IGNORECASE)
QUERY_MODE_DEFAULT: QueryMode = "prepared"
# The program turns each word after ``--``, where sysbench's users write them, into this option.
SCRIPT_OPTION = "--script-option"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """The database: an existing one, or a private server."""

    target: Annotated[str | None, flag("--target", group=TARGET, metavar="URL")] = None
    """An existing database: postgresql://user@host/db in libpq's syntax, mysql://…, or
    odbc:Driver={…};Server=… for any database with an ODBC driver. Several URLs, separated by
    commas, are further targets."""

    further_targets: Annotated[
        tuple[str, ...],
        flag("--further-target", group=TARGET, metavar="URL", converter=each(str), n_tokens=1),
    ] = ()
    """A further server with the same login, repeatable: connections are spread over those that take
    writes, and move on to the next one when one fails. Only the first is prepared, checked and
    observed."""

    server: Annotated[str | None, flag("--server", group=TARGET, metavar="SPEC")] = None
    """A new private server, KIND[:VERSION|PATH][,setting=value…] with KIND postgres, mariadb or
    mysql; or the name of a kept server, started by dbdyno server start."""

    settings: Annotated[tuple[tuple[str, str], ...], pairs("--set", group=TARGET)] = ()
    """Setting of the private server; repeatable."""

    durability: Annotated[Promise | None, flag("--durability", group=TARGET)] = None
    """Durability of commits on a private server, with the same meaning for every kind of server."""

    def __post_init__(self) -> None:
        """Several targets in one word are the first and further ones."""
        first, *further = BETWEEN_TARGETS.split(self.target or "")
        if further:
            object.__setattr__(self, "target", first)
            object.__setattr__(self, "further_targets", (*further, *self.further_targets))


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SizeOptions:
    """Size and parameters of the data."""

    scale: Annotated[int | None, whole("-s", "--scale", group=WORK)] = None
    """Size of the data, in the unit of the workload; see dbdyno workloads NAME."""

    define: Annotated[tuple[tuple[str, str], ...], pairs("-D", "--define", group=WORK)] = ()
    """Parameter of the workload or variable of the scripts; repeatable."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DataOptions(SizeOptions):
    """The data, and how it is loaded."""

    replace: Annotated[bool, flag("--replace", group=WORK)] = False
    """Drop existing tables that have the workload's table names, and load them again."""

    seed: Annotated[int | None, whole("--seed", group=WORK)] = None
    """Random seed; drawn and recorded if not given."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScriptOptions:
    """Options of a sysbench script."""

    script_options: Annotated[
        tuple[str, ...],
        flag(SCRIPT_OPTION, group=WORK, converter=each(str), n_tokens=1, show=False),
    ] = ()
    """One option of those that follow ``--``, with its dashes."""

    allow_unsafe_lua: Annotated[bool, flag("--allow-unsafe-lua", group=WORK)] = False
    """Let sysbench scripts use Lua's full io, os and ffi: they can then do anything that a
    program can."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PlacementOptions:
    """Placement on the host, which is verified after the server has started."""

    numa: Annotated[NumaPolicy | None, place("--numa", numa_policy, "POLICY")] = None
    """NUMA memory policy of the server, in numactl's terms: interleave=all, localalloc, bind=0,
    preferred=0."""

    server_cpus: Annotated[Cpus | None, place("--server-cpus", cpus, "LIST")] = None
    """CPUs to run the server on: 0-3 or 0,2."""

    engine_cpus: Annotated[Cpus | None, place("--engine-cpus", cpus, "LIST")] = None
    """CPUs to run the load generator on; for any target."""

    server_cores: Annotated[float | None, place("--server-cores", grammar.number, "CORES")] = None
    """CPU limit of the server, in cores (1.5), set by a control group."""

    server_memory_bytes: Annotated[
        int | None, place("--server-memory", grammar.byte_count, "SIZE")
    ] = None
    """Memory limit of the server, including its page cache (2GB), set by a control group."""

    data_folder: Annotated[
        Path | None, flag("--data-folder", group=PLACEMENT, metavar="FOLDER")
    ] = None
    """Put the server's data in this folder; it is removed with the server."""

    wal_folder: Annotated[Path | None, flag("--wal-folder", group=PLACEMENT, metavar="FOLDER")] = (
        None
    )
    """Put the server's WAL or redo log in this folder."""


NO_SCRIPT_OPTIONS = ScriptOptions()
ANY_SIZE = SizeOptions()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunOptions(PlacementOptions, TargetOptions, ScriptOptions, DataOptions):
    """All options of a run."""

    script_files: Annotated[
        tuple[grammar.WeightedName, ...],
        flag(
            "-f",
            "--file",
            group=WORK,
            converter=each(grammar.script_name),
            n_tokens=1,
            metavar="FILE@WEIGHT@ROLE",
            allow_leading_hyphen=True,  # - is standard input
        ),
    ] = ()
    """A pgbench script, or - for standard input; repeatable. The role is read, for a script that
    runs on standbys, or write. It may also copy rows: copy t from stdin; with the rows on the next
    lines, and a line with \\. alone after them."""

    query_mode: Annotated[
        QueryMode | None,
        flag("-M", "--protocol", group=WORK, show_default=lambda _: QUERY_MODE_DEFAULT),
    ] = None
    """Query protocol: statements as text (simple), with separate parameters (extended), or
    prepared once (prepared)."""

    isolation: Annotated[IsolationLevel | None, flag("--isolation", group=WORK)] = None
    """Isolation level of the transactions, which are READ ONLY if the workload only reads; default
    that of the server. Transactions that it makes fail are tried again: see --max-tries."""

    check: Annotated[bool, flag("--check", group=WORK)] = False
    """Check the invariants even on data that dbdyno did not load."""

    no_vacuum: Annotated[bool, flag("-n", "--no-vacuum", group=WORK)] = False
    """Do not vacuum or checkpoint a private server before the run."""

    allow_shell: Annotated[bool, flag("--allow-shell", group=WORK)] = False
    """Let scripts run programs (\\shell, \\setshell)."""

    clients: Annotated[
        int | None, whole("-c", "--clients", group=LOAD, show_default=lambda _: "8")
    ] = None
    """Number of clients; each has one connection."""

    threads: Annotated[int | None, whole("-j", "--jobs", "--threads", group=LOAD)] = None
    """Number of threads of the load generator; default one per core, or one per eight clients of
    a MariaDB or MySQL on this host that has at least four clients per core."""

    workers: Annotated[Workers | None, worded("--workers", LOAD, parsed(worker_list), "LIST")] = (
        None
    )
    """Share the load among agents, whose results are added up exactly: local*4 starts four here,
    ssh:HOST*2 two there, ray:*2 one on each of two nodes of a Ray cluster, exec:'COMMAND' one by
    any command, in which {n} is its number; several with commas, or a file with these in lines.
    See dbdyno workers check."""

    on_lost: Annotated[OnLost, flag("--on-lost", group=LOAD, show_default=True)] = "stop"
    """When one of the workers is lost: stop the run, or continue with the others."""

    duration_ns: Annotated[int | None, span("-T", "--time", group=LOAD)] = None
    """Duration of the measurement: 90, 90s, 2m; default 30s unless -t or --stages is given."""

    transactions: Annotated[int | None, whole("-t", "--transactions", group=LOAD)] = None
    """Number of transactions per client, instead of -T."""

    warmup_ns: Annotated[int | None, span("--warmup", group=LOAD)] = None
    """Duration of the warm-up, which is not counted; default 3s."""

    rate_tps: Annotated[
        float | None, flag("-R", "--rate", group=LOAD, converter=parsed(grammar.number))
    ] = None
    """Arrivals per second, on a schedule that does not wait for the server (open loop)."""

    arrivals: Annotated[
        Literal["poisson", "constant"] | None,
        flag("--arrivals", group=LOAD, show_default=lambda _: "poisson"),
    ] = None
    """Spacing of arrivals: random, as from independent users (poisson), or even (constant)."""

    stages: Annotated[
        tuple[Stage, ...] | None,
        flag("--stages", group=LOAD, converter=parsed(grammar.stages), n_tokens=1, metavar="LIST"),
    ] = None
    """Load that changes over time: 30s:8c,30s:32c (clients) or 1m:500/s,1m:1000/s (arrivals)."""

    think: Annotated[
        Think | None,
        worded("--think", LOAD, parsed(grammar.think), "TIME[,LAW]"),
    ] = None
    """Pause between a client's transactions: 10ms, or 10ms,exponential."""

    reconnect: Annotated[bool, flag("-C", "--connect", group=LOAD)] = False
    """Open a new connection for each transaction."""

    events: Annotated[
        tuple[PlannedEvent, ...],
        worded("--event", LOAD, each(planned_event), "TIME:EVENT"),
    ] = ()
    """What happens to the server at this time of the measurement, and is then measured: kill-server
    (killed and started again), restart, promote:1 (killed, and the first standby takes over, of
    --server postgres,standbys=1, say), cut:2s (all connections break, and there are no new ones
    for 2s), or exec:COMMAND for any other; repeatable. All but exec need a new private server."""

    network_delay_ns: Annotated[int | None, span("--network-delay", group=LOAD)] = None
    """Make each round trip to the server longer by this (2ms), by a proxy on this host, which is
    used also with 0. What it really adds is measured while the load runs."""

    latency_limit_ns: Annotated[
        int | None, span("-L", "--latency-limit", group=LIMITS, bare_unit="ms")
    ] = None
    """Count transactions that take longer than this as late; with --rate, skip those that
    would start later than this. A bare number is in ms."""

    tries_max: Annotated[
        int | None, whole("--max-tries", group=LIMITS, show_default=lambda _: "1")
    ] = None
    """Maximum number of tries of a transaction that fails with a serialization error or a
    deadlock, or in InnoDB waits too long for a row lock; 0 for no limit, which is the default with
    --isolation.

    A sysbench script itself chooses which errors to retry, without a limit unless this is given."""

    retry_time_ns: Annotated[int | None, span("--retry-time", group=LIMITS)] = None
    """Do not retry a transaction that is older than this."""

    failures_max: Annotated[
        float,
        flag(
            "--max-failures",
            group=LIMITS,
            converter=parsed(grammar.percentage),
            metavar="SHARE",
            show_default=lambda share: f"{share:.0%}",
        ),
    ] = 0.01
    """Share of failed transactions above which the run is invalid.

    A script that can never succeed (an invalid statement, a missing privilege) ends the run;
    100% lets it continue."""

    disturbance_max: Annotated[
        float,
        flag(
            "--max-disturbance",
            group=LIMITS,
            converter=parsed(grammar.percentage),
            metavar="SHARE",
            env_var="DBDYNO_MAX_DISTURBANCE",
            show_default=lambda share: f"{share:.0%}",
        ),
    ] = 0.25
    """Share of the host's CPU time that other programs and the hypervisor may take from the run
    while it waits for a CPU; above it the run is invalid.

    100% accepts any disturbance, for hosts that are never quiet: it is then only a doubt."""

    when_quiet: Annotated[bool, flag("--when-quiet", group=LIMITS, env_var="DBDYNO_WHEN_QUIET")] = (
        False
    )
    """Wait until no other program uses 5 % of the host's CPU time, for ten minutes at most; then
    give up. Without it, busy programs are named before the run, which goes on."""

    stall_limit_ns: Annotated[
        int, span("--stall-limit", group=LIMITS, show_default=grammar.span_text)
    ] = 60 * SECOND_NS
    """Give up if the server sends nothing for this long."""

    io: Annotated[Io, flag("--io", group=LIMITS, show_default=True)] = "auto"
    """Kernel interface for the sockets."""

    telemetry: Annotated[Level, flag("--telemetry", group=TELEMETRY, show_default=True)] = "basic"
    """Detail of the server and host telemetry, which explains what limits a run."""

    profile_hz: Annotated[
        int | None,
        flag(
            "--profile",
            group=TELEMETRY,
            converter=parsed(grammar.profile_hz),
            metavar="on|off|HZ",
        ),
    ] = None
    """Sample which functions the server's processes run in, so many times a second on each CPU;
    default on (199) with --telemetry full, else off."""

    server_log: Annotated[Path | None, flag("--server-log", group=TELEMETRY, metavar="FILE")] = None
    """Log file of a server that dbdyno did not start and that does not report its location."""

    interval_ns: Annotated[
        int, span("--interval", group=OUTPUT, show_default=grammar.span_text)
    ] = SECOND_NS
    """Length of a measurement interval; at least 100ms."""

    progress_ns: Annotated[int | None, span("-P", "--progress", group=OUTPUT)] = None
    """Interval between progress lines; default 1s, 0 for none."""

    tags: Annotated[tuple[tuple[str, str], ...], pairs("--tag", group=OUTPUT)] = ()
    """Label of the run, by which dbdyno compare and dbdyno runs find it; repeatable."""

    report: Annotated[Path | None, flag("--report", group=OUTPUT, metavar="FILE")] = None
    """Write the report to this file: a page, or by its ending text (.txt), .md or .json."""

    json: Annotated[bool, flag("--json", group=OUTPUT)] = False
    """Print one JSON object to standard output; messages go to standard error."""
