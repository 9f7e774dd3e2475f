"""What a run can be asked for: one field an option, with its flag, default and meaning.

The command line and its manual page are built from this class; studies fill it from their
files. It says what each option is, not how they go together: that is
``run/plan.py``'s business.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dbdyno.model.plan import Io, QueryMode, Stage, Think
from dbdyno.model.telemetry import Level
from dbdyno.run import grammar
from dbdyno.run.declaring import (
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
)
from dbdyno.servers.placement import Cpus, NumaPolicy, cpus, numa_policy
from dbdyno.targets.durability import Promise

SECOND_NS = 1_000_000_000
QUERY_MODE_DEFAULT: QueryMode = "prepared"
# What the program makes of each word after ``--``, which is where sysbench's users write them.
SCRIPT_OPTION = "--script-option"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """Which database."""

    target: Annotated[str | None, flag("--target", group=TARGET, metavar="URL")] = None
    """A database that exists: postgresql://user@host/db as libpq writes it, mysql://…, or
    odbc:Driver={…};Server=… for whatever has an ODBC driver."""

    server: Annotated[str | None, flag("--server", group=TARGET, metavar="SPEC")] = None
    """A new private server, KIND[:VERSION|PATH][,setting=value…] with KIND postgres, mariadb or
    mysql; or the name of one that dbdyno server start keeps."""

    settings: Annotated[tuple[tuple[str, str], ...], pairs("--set", group=TARGET)] = ()
    """A setting of the private server; repeatable."""

    durability: Annotated[Promise | None, flag("--durability", group=TARGET)] = None
    """What a private server promises of a crash, the same on every kind."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SizeOptions:
    """Of which size and shape the data is."""

    scale: Annotated[int | None, flag("-s", "--scale", group=WORK)] = None
    """Size of the data, in the workload's own unit: dbdyno workloads NAME tells it."""

    define: Annotated[tuple[tuple[str, str], ...], pairs("-D", "--define", group=WORK)] = ()
    """A parameter of the workload or a variable of the scripts; repeatable."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DataOptions(SizeOptions):
    """Which data, and how it is made."""

    replace: Annotated[bool, flag("--replace", group=WORK)] = False
    """Drop and load anew what stands under the workload's table names."""

    seed: Annotated[int | None, flag("--seed", group=WORK)] = None
    """The seed of all chance; drawn and recorded when not given."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScriptOptions:
    """What a script for sysbench is given."""

    script_options: Annotated[
        tuple[str, ...],
        flag(SCRIPT_OPTION, group=WORK, converter=each(str), n_tokens=1, show=False),
    ] = ()
    """One of those that stand after ``--``, with its dashes."""

    allow_unsafe_lua: Annotated[bool, flag("--allow-unsafe-lua", group=WORK)] = False
    """Let scripts for sysbench use the real io, os and ffi: as much as a program can do."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PlacementOptions:
    """Where on the machine. What is asked for is verified once the server has started."""

    numa: Annotated[NumaPolicy | None, place("--numa", numa_policy, "POLICY")] = None
    """The server's memory policy, in numactl's words: interleave=all, localalloc, bind=0,
    preferred=0."""

    server_cpus: Annotated[Cpus | None, place("--server-cpus", cpus, "LIST")] = None
    """Processors for the server alone: 0-3 or 0,2."""

    engine_cpus: Annotated[Cpus | None, place("--engine-cpus", cpus, "LIST")] = None
    """Processors for the engine that makes the load; on any target."""

    server_cores: Annotated[float | None, place("--server-cores", grammar.number, "CORES")] = None
    """Processor time for the server, in cores (1.5), by a control group."""

    server_memory_bytes: Annotated[
        int | None, place("--server-memory", grammar.byte_count, "SIZE")
    ] = None
    """Memory for the server, its share of the kernel's cache included (2GB), by a control group."""

    data_folder: Annotated[
        Path | None, flag("--data-folder", group=PLACEMENT, metavar="FOLDER")
    ] = None
    """Put the server's data below this folder; it is removed with the server."""

    wal_folder: Annotated[Path | None, flag("--wal-folder", group=PLACEMENT, metavar="FOLDER")] = (
        None
    )
    """Put the server's log of changes (WAL, redo) below this folder."""


NO_SCRIPT_OPTIONS = ScriptOptions()
ANY_SIZE = SizeOptions()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunOptions(PlacementOptions, TargetOptions, ScriptOptions, DataOptions):
    """All that a run can be asked for."""

    script_files: Annotated[
        tuple[grammar.WeightedName, ...],
        flag(
            "-f",
            "--file",
            group=WORK,
            converter=each(grammar.script_name),
            n_tokens=1,
            metavar="FILE@WEIGHT",
            allow_leading_hyphen=True,  # - is standard input
        ),
    ] = ()
    """A script in pgbench's language, - for standard input; repeatable."""

    query_mode: Annotated[
        QueryMode | None,
        flag("-M", "--protocol", group=WORK, show_default=lambda _: QUERY_MODE_DEFAULT),
    ] = None
    """How statements travel: as text (simple), with parameters beside it (extended), or prepared
    once."""

    check: Annotated[bool, flag("--check", group=WORK)] = False
    """Check the invariants also on data that dbdyno did not load."""

    no_vacuum: Annotated[bool, flag("-n", "--no-vacuum", group=WORK)] = False
    """Neither vacuum nor checkpoint a private server before the run."""

    allow_shell: Annotated[bool, flag("--allow-shell", group=WORK)] = False
    """Let scripts run programs (\\shell, \\setshell)."""

    clients: Annotated[
        int | None, flag("-c", "--clients", group=LOAD, show_default=lambda _: "8")
    ] = None
    """Connections; each is one client."""

    threads: Annotated[
        int | None,
        flag("-j", "--jobs", "--threads", group=LOAD, show_default=lambda _: "min(cores, clients)"),
    ] = None
    """Threads of the engine."""

    duration_ns: Annotated[int | None, span("-T", "--time", group=LOAD)] = None
    """How long to measure: 90, 90s, 2m; 30s when neither -t nor --stages says."""

    transactions: Annotated[int | None, flag("-t", "--transactions", group=LOAD)] = None
    """Stop when each client has made so many transactions; in place of -T."""

    warmup_ns: Annotated[int | None, span("--warmup", group=LOAD)] = None
    """How long to run before anything is counted; 3s unless given."""

    rate_tps: Annotated[
        float | None, flag("-R", "--rate", group=LOAD, converter=parsed(grammar.number))
    ] = None
    """Arrivals per second, by a schedule that the server cannot slow down (open loop)."""

    arrivals: Annotated[
        Literal["poisson", "constant"] | None,
        flag("--arrivals", group=LOAD, show_default=lambda _: "poisson"),
    ] = None
    """How arrivals are spaced: at random, as of users who know nothing of each other, or evenly."""

    stages: Annotated[
        tuple[Stage, ...] | None,
        flag("--stages", group=LOAD, converter=parsed(grammar.stages), n_tokens=1, metavar="LIST"),
    ] = None
    """Load that changes in time: 30s:8c,30s:32c (clients) or 1m:500/s,1m:1000/s (arrivals)."""

    think: Annotated[
        Think | None,
        flag(
            "--think",
            group=LOAD,
            converter=parsed(grammar.think),
            n_tokens=1,
            accepts_keys=False,
            metavar="TIME[,LAW]",
        ),
    ] = None
    """A pause between a client's transactions: 10ms, or 10ms,exponential."""

    reconnect: Annotated[bool, flag("-C", "--connect", group=LOAD)] = False
    """Connect anew for each transaction."""

    latency_limit_ns: Annotated[
        int | None, span("-L", "--latency-limit", group=LIMITS, bare_unit="ms")
    ] = None
    """A transaction that takes longer is late; with --rate, one that would start later than this is
    skipped. A bare number is in ms."""

    tries_max: Annotated[
        int | None, flag("--max-tries", group=LIMITS, show_default=lambda _: "1")
    ] = None
    """Tries of a transaction that fails by serialization or deadlock; 0 for no limit.

    A script for sysbench says itself what it tries again, without a limit unless one is given."""

    retry_time_ns: Annotated[int | None, span("--retry-time", group=LIMITS)] = None
    """No further try of a transaction that is older than this."""

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
    """More failed transactions than this make the run invalid.

    A script that can never work (a wrong statement, no right to it) ends the run; 100% lets it go
    on."""

    stall_limit_ns: Annotated[
        int, span("--stall-limit", group=LIMITS, show_default=grammar.span_text)
    ] = 60 * SECOND_NS
    """Give up when the server has sent nothing for this long."""

    io: Annotated[Io, flag("--io", group=LIMITS, show_default=True)] = "auto"
    """The kernel interface that drives the sockets."""

    telemetry: Annotated[Level, flag("--telemetry", group=TELEMETRY, show_default=True)] = "basic"
    """How closely server and machine are watched, to say why a number is not more."""

    server_log: Annotated[Path | None, flag("--server-log", group=TELEMETRY, metavar="FILE")] = None
    """The log of a server that dbdyno did not start, when it does not tell where it is."""

    interval_ns: Annotated[
        int, span("--interval", group=OUTPUT, show_default=grammar.span_text)
    ] = SECOND_NS
    """How often numbers are recorded; at least 100ms."""

    progress_ns: Annotated[int | None, span("-P", "--progress", group=OUTPUT)] = None
    """How often a line of progress is shown; 1s unless given, 0 for none."""

    tags: Annotated[tuple[tuple[str, str], ...], pairs("--tag", group=OUTPUT)] = ()
    """A label of the run, by which compare finds it; repeatable."""

    report: Annotated[Path | None, flag("--report", group=OUTPUT, metavar="FILE")] = None
    """Write the HTML report there."""

    json: Annotated[bool, flag("--json", group=OUTPUT)] = False
    """One JSON object on standard output; what is for people goes to standard error."""
