"""The plan of a run from its options: pure, and with all defaults filled in.

Contradictory options are refused here, all at once and before anything is touched. Knows no server
and no file: the endpoint and the scripts' texts are arguments.
"""

import os
from collections.abc import Iterator, Mapping, Sequence

from msgspec import UNSET, UnsetType

from dbdyno.databases.known import native_database
from dbdyno.errors import DbdynoError
from dbdyno.model.plan import (
    Arrivals,
    ClientGroup,
    ClosedArrivals,
    Endpoint,
    Lua,
    OpenArrivals,
    Plan,
    Retry,
    Scalar,
    Script,
    ScriptChoice,
    Stage,
    Think,
)
from dbdyno.run.options.grammar import PROFILE_HZ, span_text
from dbdyno.run.options.run_options import QUERY_MODE_DEFAULT, SECOND_NS, RunOptions
from dbdyno.telemetry.pace import activity_interval_ns

CLIENTS_DEFAULT = 8
DURATION_DEFAULT_NS = 30 * SECOND_NS
WARMUP_DEFAULT_NS = 3 * SECOND_NS
PROGRESS_DEFAULT_NS = SECOND_NS
INTERVAL_MIN_NS = SECOND_NS // 10
COUNT_MAX = 2**32 - 1
CLIENTS_PER_BUSY_CORE = 4
"""This many clients of a server on the same host keep its cores busy."""
CLIENTS_PER_THREAD = 8
"""Clients of a thread that shares busy cores with the server; docs/tuning.md has the
measurements."""
RATE_MAX_TPS = 10_000_000  # each thread draws every arrival: with more, it does nothing else


def refuse_contradictions(options: RunOptions, command: str = "run") -> None:
    """Raise one error that names all options, and pairs of options, that are not allowed.

    Commands that take only some of a run's options leave the others at their defaults.
    """
    problems = [*_out_of_range(options), *_contradictions(options)]
    if problems:
        raise DbdynoError(
            code="usage",
            message="; ".join(problems),
            hint=f"See dbdyno {command} --help.",
        )


def _out_of_range(options: RunOptions) -> Iterator[str]:
    counts = {
        "-c": (options.clients, 1),
        "-j": (options.threads, 1),
        "-t": (options.transactions, 1),
        "-s": (options.scale, 1),
        "--max-tries": (options.tries_max, 0),
    }
    for flag, (value, least) in counts.items():
        if value is not None and not least <= value <= COUNT_MAX:
            bound = f"at least {least}" if value < least else f"at most {COUNT_MAX}"
            yield f"{flag} {value}: must be {bound}"
    if options.seed is not None and not 0 <= options.seed < 2**63:
        yield f"--seed {options.seed}: must be between 0 and 2^63 - 1"
    if _stage_clients_max(options) > COUNT_MAX:
        yield f"--stages {_stage_clients_max(options)}c: must be at most {COUNT_MAX}c"
    given = [] if options.rate_tps is None else [("--rate", options.rate_tps)]
    for flag, rate in [*given, *(("--stages", rate) for rate in _stage_rates(options))]:
        if not 0 < rate <= RATE_MAX_TPS:
            yield f"{flag} {rate:g}: must be above 0 and at most {RATE_MAX_TPS:,} per second"
    if options.interval_ns < INTERVAL_MIN_NS:
        yield "--interval: must be at least 100ms"
    for flag, span in {
        "-T": options.duration_ns,
        "-L": options.latency_limit_ns,
        "--stall-limit": options.stall_limit_ns,
    }.items():
        if span == 0:
            yield f"{flag} 0: must be above 0"


def _contradictions(options: RunOptions) -> Iterator[str]:
    has_target = options.target is not None  # an empty one is libpq's default
    pairs = {
        ("-t", "-T"): options.transactions and options.duration_ns,
        ("-t", "--stages"): options.transactions and options.stages,
        ("-T", "--stages"): options.duration_ns and options.stages,
        ("--rate", "--stages"): options.rate_tps and options.stages,
        ("--rate", "--think"): options.rate_tps and options.think,
        ("--stages with rates", "--think"): _stage_rates(options) and options.think,
        ("--target", "--server"): has_target and options.server,
        ("--target", "--set"): has_target and options.settings,
        ("--telemetry off", "--server-log"): options.telemetry == "off" and options.server_log,
        ("--workers", "--engine-cpus"): options.workers and options.engine_cpus,
        ("--workers", "--network-delay"): options.workers and options.network_delay_ns is not None,
        ("-t", "--event"): options.transactions and options.events,
        ("--telemetry off", "--profile"): options.telemetry == "off" and options.profile_hz,
    }
    for (one, other), both in pairs.items():
        if both:
            yield f"{one} and {other} cannot be used together"
    if has_target and options.durability:
        yield "--durability is only for private servers: dbdyno does not reconfigure others"
    if options.arrivals and not is_open(options):
        yield "--arrivals needs --rate, or --stages with rates"
    if options.stages and 0 < (options.clients or 0) < _stage_clients_max(options):
        yield f"-c {options.clients} is less than the clients of --stages"
    measured_ns = sum(stage.duration_ns or 0 for stage in _stages(options))
    for event in options.events:
        if event.at_ns >= measured_ns and not options.transactions:
            yield f"--event {event}: the run measures for {span_text(measured_ns)} only"
    if options.tries_max == 0 and not options.retry_time_ns and options.transactions:
        yield "--max-tries 0 needs a bound: --retry-time, or -T instead of -t"


def is_open(options: RunOptions) -> bool:
    """Whether arrivals follow a schedule."""
    return options.rate_tps is not None or bool(_stage_rates(options))


def needs_proxy(options: RunOptions) -> bool:
    """Whether an event cuts the network, or leads the load to another server."""
    return any(event.action in {"cut", "promote"} for event in options.events)


def client_count(options: RunOptions) -> int:
    """Number of connections that the run will open."""
    return options.clients or _stage_clients_max(options) or CLIENTS_DEFAULT


def profile_hz(options: RunOptions) -> int:
    """How often the server's processes are sampled in a second, on each CPU; 0 for never."""
    default = PROFILE_HZ if options.telemetry == "full" else 0
    return default if options.profile_hz is None else options.profile_hz


def warmup_ns(options: RunOptions) -> int:
    """Duration of the warm-up, in which nothing is counted."""
    return WARMUP_DEFAULT_NS if options.warmup_ns is None else options.warmup_ns


def progress_ns(options: RunOptions) -> int:
    """Interval between progress lines; 0 for none."""
    return PROGRESS_DEFAULT_NS if options.progress_ns is None else options.progress_ns


def _stage_rates(options: RunOptions) -> list[float]:
    """Rates in transactions per second; empty if stages change the clients."""
    return [stage.rate_tps for stage in options.stages or () if stage.rate_tps is not None]


def _stage_clients_max(options: RunOptions) -> int:
    return max((stage.clients or 0 for stage in options.stages or ()), default=0)


def make_plan(  # noqa: PLR0913 - independent inputs
    options: RunOptions,
    *,
    endpoint: Endpoint,
    scripts: Sequence[Script],
    variables: Mapping[str, Scalar],
    lua: Lua | None,
    seed: int,
    is_deck: bool = False,
    beside: ClientGroup | None = None,
    executors: int = 0,
) -> Plan:
    """Return the plan for these options; they have passed :func:`refuse_contradictions`.

    Each thread has an executor, if there are any: so there are no more threads.
    """
    clients = client_count(options)
    if any(script.pacing for script in scripts) and (options.think or is_open(options)):
        raise DbdynoError(
            code="usage",
            message="the scripts say when each client pauses: --rate, --think and stages with "
            "rates cannot be used with them",
            hint="Leave the option out, or the pacing: -D pacing=off",
        )
    choice: ScriptChoice | UnsetType = "deck" if is_deck else UNSET
    groups: list[ClientGroup] | UnsetType = UNSET
    if beside:
        if is_open(options) or _stage_clients_max(options):
            raise DbdynoError(
                code="usage",
                message="some clients have scripts of their own: --rate and --stages cannot be "
                "used with them",
                hint="Leave the option out, or these clients (of ch: -D analysts=0).",
            )
        scripts_left = len(scripts) - beside.scripts
        groups = [ClientGroup(clients=clients, scripts=scripts_left, choice=choice), beside]
        clients += beside.clients
    arrivals = Arrivals(closed=ClosedArrivals(think=options.think or Think()))
    if is_open(options):
        arrivals = Arrivals(open=OpenArrivals(law=options.arrivals or "poisson"))
    tries_max = options.tries_max
    if tries_max is None:
        # A sysbench script itself chooses what to retry. A chosen level is to be kept to the end.
        tries_max = 1 if lua is None and options.isolation is None else 0
    return Plan(
        endpoint=endpoint,
        query_mode=options.query_mode or QUERY_MODE_DEFAULT,
        scripts=list(scripts),
        script_choice=choice,
        groups=groups,
        variables=dict(variables),
        seed=seed,
        clients=clients + executors,
        executors=executors or UNSET,
        threads=min(
            options.threads or _threads_default(options, endpoint, clients),
            executors or clients,
        ),
        io=options.io,
        arrivals=arrivals,
        stages=_stages(options),
        transactions_per_client=options.transactions,
        warmup_ns=warmup_ns(options),
        interval_ns=options.interval_ns,
        activity_interval_ns=activity_interval_ns(options.telemetry),
        latency_limit_ns=options.latency_limit_ns,
        reconnect_each_transaction=options.reconnect,
        retry=Retry(tries_max=tries_max, time_max_ns=options.retry_time_ns),
        stall_limit_ns=options.stall_limit_ns,
        ends_on_hopeless_script=options.failures_max < 1,
        allow_shell=options.allow_shell,
        lua=lua,
    )


def cores_available() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def _threads_default(options: RunOptions, endpoint: Endpoint, clients: int) -> int:
    """Threads of the load generator: one per core, or fewer beside a busy MariaDB or MySQL.

    Where clients keep all cores of the server's host busy, a thread of more clients finds more
    replies when its turn comes: fewer context switches. Beside PostgreSQL that would leave a core
    idle at times.
    """
    if options.engine_cpus:
        return len(options.engine_cpus.numbers)
    cores = cores_available()
    shares_cores = (
        endpoint.address.is_on_this_host and native_database(endpoint.protocol).sessions_are_threads
    )
    if clients < CLIENTS_PER_BUSY_CORE * cores or not shares_cores:
        return cores
    return max(1, min(cores, clients // CLIENTS_PER_THREAD))


def _stages(options: RunOptions) -> list[Stage]:
    if options.stages:
        return list(options.stages)
    if options.transactions:
        return [Stage(duration_ns=None, rate_tps=options.rate_tps)]
    return [
        Stage(duration_ns=options.duration_ns or DURATION_DEFAULT_NS, rate_tps=options.rate_tps)
    ]


def planned_ns(plan: Plan) -> int | None:
    """Return how long the plan measures; None if it counts transactions."""
    if plan.transactions_per_client is not None:
        return None
    return sum(stage.duration_ns or 0 for stage in plan.stages)
