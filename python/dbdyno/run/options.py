"""What a run can be asked for: one field an option, with its flag, default and meaning.

The command line and its manual page are built from this class; studies fill it from their
files. It says what each option is, not how they go together: that is
``run/plan.py``'s business.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter, Token

from dbdyno.model.plan import Io, QueryMode, Stage, Think
from dbdyno.model.telemetry import Level
from dbdyno.run import grammar
from dbdyno.servers.placement import Cpus, NumaPolicy, cpus, numa_policy
from dbdyno.targets.durability import Promise

SECOND_NS = 1_000_000_000
QUERY_MODE_DEFAULT: QueryMode = "prepared"
# What the program makes of each word after ``--``, which is where sysbench's users write them.
SCRIPT_OPTION = "--script-option"

_TARGET = Group("Target", sort_key=1)
_WORK = Group("Work", sort_key=2)
_LOAD = Group("Load", sort_key=3)
_LIMITS = Group("Limits", sort_key=4)
_TELEMETRY = Group("Telemetry", sort_key=5)
_OUTPUT = Group("Output", sort_key=6)
_PLACEMENT = Group("Placement of a private server and its load", sort_key=7)


def parsed(parse: Callable[[str], Any]) -> Callable[[object, Sequence[Token]], Any]:
    """A converter of one option's text."""
    return lambda _type, tokens: parse(tokens[0].value)


def each(parse: Callable[[str], Any]) -> Callable[[object, Sequence[Token]], Any]:
    """A converter of an option that may be repeated."""
    return lambda _type, tokens: tuple(parse(token.value) for token in tokens)


def _flag(*names: str, group: Group, **more: Any) -> Parameter:
    return Parameter(name=names, group=group, negative=(), **{"show_default": False, **more})


def _span(*names: str, group: Group, bare_unit: str = "s", **more: Any) -> Parameter:
    """An option that takes a span of time."""
    return _flag(
        *names,
        group=group,
        converter=parsed(lambda text: grammar.span_ns(text, bare_unit)),
        metavar="TIME",
        **more,
    )


def _pairs(*names: str, group: Group) -> Parameter:
    """An option that takes ``name=value`` and may be repeated."""
    return _flag(
        *names,
        group=group,
        converter=each(grammar.assignment),
        n_tokens=1,
        metavar="NAME=VALUE",
    )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """Which database."""

    target: Annotated[str | None, _flag("--target", group=_TARGET, metavar="URL")] = None
    """A database that exists: postgresql://user@host/db as libpq writes it, mysql://…, or
    odbc:Driver={…};Server=… for whatever has an ODBC driver."""

    server: Annotated[str | None, _flag("--server", group=_TARGET, metavar="SPEC")] = None
    """A new private server, KIND[:VERSION|PATH][,setting=value…], or the name of a kept one.

    KIND is postgres, mariadb or mysql."""

    settings: Annotated[tuple[tuple[str, str], ...], _pairs("--set", group=_TARGET)] = ()
    """A setting of the private server; repeatable."""

    durability: Annotated[Promise | None, _flag("--durability", group=_TARGET)] = None
    """What a private server promises of a crash, the same on every kind: full, relaxed or none."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SizeOptions:
    """Of which size and shape the data is."""

    scale: Annotated[int | None, _flag("-s", "--scale", group=_WORK)] = None
    """Size of the data, in the workload's own unit."""

    define: Annotated[tuple[tuple[str, str], ...], _pairs("-D", "--define", group=_WORK)] = ()
    """A parameter of the workload or a variable of the scripts; repeatable."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DataOptions(SizeOptions):
    """Which data, and how it is made."""

    replace: Annotated[bool, _flag("--replace", group=_WORK)] = False
    """Drop and load anew what stands under the workload's table names."""

    seed: Annotated[int | None, _flag("--seed", group=_WORK)] = None
    """The seed of all chance; drawn and recorded when not given."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScriptOptions:
    """What a script for sysbench is given."""

    script_options: Annotated[
        tuple[str, ...],
        _flag(SCRIPT_OPTION, group=_WORK, converter=each(str), n_tokens=1, show=False),
    ] = ()
    """One of those that stand after ``--``, with its dashes."""

    allow_unsafe_lua: Annotated[bool, _flag("--allow-unsafe-lua", group=_WORK)] = False
    """Let scripts for sysbench use the real io, os and ffi: as much as a program can do."""


def _place(name: str, parse: Callable[[str], Any], metavar: str) -> Parameter:
    """An option of placement, read by a grammar of its own."""
    return _flag(
        name,
        group=_PLACEMENT,
        converter=parsed(parse),
        n_tokens=1,
        accepts_keys=False,
        metavar=metavar,
    )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PlacementOptions:
    """Where on the machine. What is asked for is verified once the server has started."""

    numa: Annotated[NumaPolicy | None, _place("--numa", numa_policy, "POLICY")] = None
    """The server's memory policy, in numactl's words: interleave=all, localalloc, bind=0,
    preferred=0."""

    server_cpus: Annotated[Cpus | None, _place("--server-cpus", cpus, "LIST")] = None
    """Processors for the server alone: 0-3 or 0,2."""

    engine_cpus: Annotated[Cpus | None, _place("--engine-cpus", cpus, "LIST")] = None
    """Processors for the engine that makes the load; on any target."""

    server_cores: Annotated[float | None, _flag("--server-cores", group=_PLACEMENT)] = None
    """Processor time for the server, in cores (1.5), by a control group."""

    server_memory_bytes: Annotated[
        int | None, _place("--server-memory", grammar.byte_count, "SIZE")
    ] = None
    """Memory for the server, its share of the kernel's cache included (2GB), by a control group."""

    data_folder: Annotated[
        Path | None, _flag("--data-folder", group=_PLACEMENT, metavar="FOLDER")
    ] = None
    """Put the server's data below this folder; it is removed with the server."""

    wal_folder: Annotated[
        Path | None, _flag("--wal-folder", group=_PLACEMENT, metavar="FOLDER")
    ] = None
    """Put the server's log of changes (WAL, redo) below this folder."""


NO_SCRIPT_OPTIONS = ScriptOptions()
ANY_SIZE = SizeOptions()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunOptions(PlacementOptions, TargetOptions, DataOptions, ScriptOptions):
    """All that a run can be asked for."""

    script_files: Annotated[
        tuple[grammar.WeightedName, ...],
        _flag(
            "-f",
            "--file",
            group=_WORK,
            converter=each(grammar.weighted_name),
            n_tokens=1,
            metavar="FILE@WEIGHT",
        ),
    ] = ()
    """A script in pgbench's language; repeatable."""

    query_mode: Annotated[
        QueryMode | None,
        _flag("-M", "--protocol", group=_WORK, show_default=lambda _: QUERY_MODE_DEFAULT),
    ] = None
    """How statements travel."""

    check: Annotated[bool, _flag("--check", group=_WORK)] = False
    """Check the invariants also on data that dbdyno did not load."""

    no_vacuum: Annotated[bool, _flag("-n", "--no-vacuum", group=_WORK)] = False
    """Neither vacuum nor checkpoint a private server before the run."""

    allow_shell: Annotated[bool, _flag("--allow-shell", group=_WORK)] = False
    """Let scripts run programs (\\shell, \\setshell)."""

    clients: Annotated[
        int | None, _flag("-c", "--clients", group=_LOAD, show_default=lambda _: "8")
    ] = None
    """Connections; each is one client."""

    threads: Annotated[
        int | None,
        _flag(
            "-j", "--jobs", "--threads", group=_LOAD, show_default=lambda _: "min(cores, clients)"
        ),
    ] = None
    """Threads of the engine."""

    duration_ns: Annotated[int | None, _span("-T", "--time", group=_LOAD)] = None
    """How long to measure; 30s when neither -t nor --stages says."""

    transactions: Annotated[int | None, _flag("-t", "--transactions", group=_LOAD)] = None
    """Stop after so many transactions per client instead."""

    warmup_ns: Annotated[int | None, _span("--warmup", group=_LOAD)] = None
    """Run so long before anything is counted; 3s unless given."""

    rate_tps: Annotated[float | None, _flag("-R", "--rate", group=_LOAD)] = None
    """Arrivals per second, by a schedule that the server cannot slow down (open loop)."""

    arrivals: Annotated[
        Literal["poisson", "constant"] | None,
        _flag("--arrivals", group=_LOAD, show_default=lambda _: "poisson"),
    ] = None
    """The law of the gaps between arrivals."""

    stages: Annotated[
        tuple[Stage, ...] | None,
        _flag(
            "--stages", group=_LOAD, converter=parsed(grammar.stages), n_tokens=1, metavar="LIST"
        ),
    ] = None
    """Load that changes in time: 30s:8c,30s:32c (clients) or 1m:500/s,1m:1000/s (arrivals)."""

    think: Annotated[
        Think | None,
        _flag(
            "--think",
            group=_LOAD,
            converter=parsed(grammar.think),
            n_tokens=1,
            accepts_keys=False,
            metavar="TIME[,LAW]",
        ),
    ] = None
    """A pause between a client's transactions: 10ms, or 10ms,exponential."""

    reconnect: Annotated[bool, _flag("-C", "--connect", group=_LOAD)] = False
    """Connect anew for each transaction."""

    latency_limit_ns: Annotated[
        int | None, _span("-L", "--latency-limit", group=_LIMITS, bare_unit="ms")
    ] = None
    """Count slower ones as late, and with --rate skip those that would start later; bare in ms."""

    tries_max: Annotated[
        int | None, _flag("--max-tries", group=_LIMITS, show_default=lambda _: "1")
    ] = None
    """Tries of a transaction that fails by serialization or deadlock; 0 for no limit.

    A script for sysbench says itself what it tries again, without a limit unless one is given."""

    retry_time_ns: Annotated[int | None, _span("--retry-time", group=_LIMITS)] = None
    """No further try of a transaction that is older than this."""

    failures_max: Annotated[
        float,
        _flag(
            "--max-failures",
            group=_LIMITS,
            converter=parsed(grammar.percentage),
            metavar="SHARE",
            show_default=lambda share: f"{share:.0%}",
        ),
    ] = 0.01
    """More failed transactions than this make the run invalid."""

    stall_limit_ns: Annotated[
        int, _span("--stall-limit", group=_LIMITS, show_default=grammar.span_text)
    ] = 60 * SECOND_NS
    """Give up when the server sends nothing for so long."""

    io: Annotated[Io, _flag("--io", group=_LIMITS, show_default=True)] = "auto"
    """The kernel interface that drives the sockets."""

    telemetry: Annotated[Level, _flag("--telemetry", group=_TELEMETRY, show_default=True)] = "basic"
    """How closely server and machine are watched, to say why a number is not more."""

    server_log: Annotated[Path | None, _flag("--server-log", group=_TELEMETRY, metavar="FILE")] = (
        None
    )
    """The log of a server that dbdyno did not start, when it does not tell where it is."""

    interval_ns: Annotated[
        int, _span("--interval", group=_OUTPUT, show_default=grammar.span_text)
    ] = SECOND_NS
    """Record so often; from 100ms."""

    progress_ns: Annotated[int | None, _span("-P", "--progress", group=_OUTPUT)] = None
    """A line of progress so often; 1s unless given, 0 for none."""

    tags: Annotated[tuple[tuple[str, str], ...], _pairs("--tag", group=_OUTPUT)] = ()
    """A label of the run; repeatable."""

    report: Annotated[Path | None, _flag("--report", group=_OUTPUT, metavar="FILE")] = None
    """Write the HTML report there."""

    json: Annotated[bool, _flag("--json", group=_OUTPUT)] = False
    """One JSON object on standard output; what is for people goes to standard error."""
