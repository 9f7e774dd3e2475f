"""Makes a run ready on a connected server: refusals, data and plan, before there is a run folder.

If anything fails here, nothing was run and nothing has to be removed. Where a variable stands
decides whether its value can be a parameter: the engine knows what no server allows (quoted text,
parts of names), the server itself knows the rest. Both are asked, and the plan contains the answer.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace as with_options
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from msgspec import UNSET
from msgspec.structs import replace

from dbdyno.databases.adapter import Parameters, ServerDescription
from dbdyno.databases.connecting import further_urls, repeatable
from dbdyno.databases.durability import UNLOGGED_TABLES, promise_of
from dbdyno.databases.isolation import at_level, in_force, refuse_missing_level, verified
from dbdyno.databases.known import all_databases
from dbdyno.errors import DbdynoError
from dbdyno.explain.statements.sql import Sql, dialect_of
from dbdyno.formatting import counted
from dbdyno.model.plan import Endpoint, Plan, Statement
from dbdyno.model.record import IsolationRecord, RunRecord
from dbdyno.run.connected_server import ConnectedServer, refuse_too_many
from dbdyno.run.data_preparation import (
    has_unlogged_tables,
    load_summary,
    prepare,
    settle,
)
from dbdyno.run.invariants import Before, Watch, begin_watch, read_before
from dbdyno.run.job import Job
from dbdyno.run.network_delay.way import SlowWay
from dbdyno.run.observer import Observer
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.options.words import arguments_of
from dbdyno.run.placement import PlacementRecord
from dbdyno.run.quiet import BeforeRun
from dbdyno.run.standbys.finding import Standby, servers_of, with_standbys
from dbdyno.run.tools import Tools
from dbdyno.servers.base import Server
from dbdyno.servers.product import settings_by_level
from dbdyno.servers.settings import settings_summary
from dbdyno.workloads.parameters import Values


@dataclass(frozen=True, kw_only=True)
class DataFound:
    """The data of a run as it was looked at before the load."""

    values: Values
    """The parameters of the workload's data."""
    before: Before | None
    """The numbers that the invariants compare; None if they are not checked."""


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A run that can begin: its plan, its first record, and the state before the load."""

    plan: Plan
    record: RunRecord
    values: Values
    """The parameters of the workload's data."""
    watch: Watch | None
    """The invariants; None if they are not checked."""
    placed: PlacementRecord
    description: ServerDescription


def make_ready(  # noqa: PLR0913 - independent inputs
    job: Job,
    tools: Tools,
    observer: Observer,
    connected: ConnectedServer,
    *,
    way: SlowWay | None = None,
    standbys: Sequence[Standby] = (),
    found: DataFound | None = None,
) -> Ready:
    """Refuse what the server does not allow, prepare the data, and complete the plan.

    Data that was ``found`` before is not looked at: its pages would be in the caches.
    """
    say = observer.say
    if job.is_on_empty_server:
        say("without --target, the scripts run on a new and empty server")
    for line in settings_by_level(job.options.durability) if job.options.durability else ():
        say(line)
    if connected.server.settings:
        say(settings_summary(connected.server.settings))
    _report_unreadable_log(job.options.server_log, say)
    placed = PlacementRecord(connected.server, job.options)
    observer.placed(placed.verified)
    prepares = job.work.lua is None and job.draft.query_mode == "prepared"
    between = connected.intermediaries(job.options.further_targets, say, prepares=prepares)
    if job.options.isolation:
        refuse_missing_level(job.options.isolation, connected.database)
    _refuse_to_write_where_nothing_can_be(job, connected)
    read_from = standbys if job.work.reads_on_standbys else ()
    if read_from:
        say(
            f"each of {job.clients} clients has a second connection, for scripts of the role read: "
            f"to {counted(len(read_from), 'standby')}"
        )
    further = len(job.options.further_targets)
    servers = 1 + further if job.work.lua else connected.server.begun_with
    refuse_too_many(-(-job.clients // servers), connected.free_connections)
    data = found or find_data(job, tools, observer, connected)
    values = data.values
    host = BeforeRun(
        job.options, [connected.server.process_id, *connected.server.further_processes], say
    )
    endpoint, isolation = _isolated(job, connected, values)
    endpoint = way.to(endpoint) if way else endpoint
    endpoint = with_standbys(endpoint, read_from) if read_from else endpoint
    if job.work.lua:  # sysbench's scripts say themselves where they connect
        endpoint = replace(endpoint, read_only_query=UNSET)
    plan = job.plan(values, endpoint, connected.target.sql_dialect)
    if plan.lua is None:
        plan = with_statements_as_text(plan, tools.statements_with_variables(plan), connected, say)
    description = connected.description()
    if has_unlogged_tables(connected, job.work.workload, values):
        say("the workload's tables are unlogged: after a crash the server empties them")
        durability = {**description.durability, **UNLOGGED_TABLES}
        description = replace(description, durability=durability)
    host.look()
    record = first_record(plan, job.work.name, connected.server, description, job.options)
    command = _command(job, connected.server)
    return Ready(
        plan=plan,
        record=replace(
            record,
            servers=servers_of(plan.endpoint, connected.server, read_from),
            command=command,
            isolation=isolation,
            intermediaries=between,
        ),
        values=values,
        watch=_watch(job, connected, data),
        placed=placed,
        description=description,
    )


def first_record(
    plan: Plan, work: str, server: Server, description: ServerDescription, options: RunOptions
) -> RunRecord:
    """Return the record as known before the first transaction."""
    database = all_databases()[description.database]
    promise = promise_of(database, description.durability)
    durability = dict(description.durability)
    if database.loss_window and promise != "relaxed":  # then it changes nothing
        durability.pop(database.loss_window.setting, None)
    return RunRecord(
        run_id="",  # assigned by the run folder
        status="running",
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        workload=work,
        target=server.url,
        further_targets=further_urls(server.endpoint()),
        server={
            "kind": server.kind,
            "product": description.product,
            "title": database.title if database.known_from != "nothing" else "",
            "version": description.version,
            "promise": None if "durability" in description.unreadable else promise,
            "durability": durability,
        },
        seed=plan.seed,
        dbdyno_version=metadata.version("dbdyno"),
        tags=dict(options.tags),
        telemetry={"level": options.telemetry},
    )


def _isolated(
    job: Job, connected: ConnectedServer, values: Values
) -> tuple[Endpoint, IsolationRecord | None]:
    """Return the endpoint of the load, and the isolation that the server gives its transactions."""
    endpoint, level = connected.server.endpoint(), job.options.isolation
    with connected.target.understood("ask for the isolation level"):
        if level is None:
            return endpoint, in_force(connected.control, connected.database)
        only_reads = job.work.only_reads(values)
        endpoint = at_level(endpoint, connected.database, level, only_reads=only_reads)
        return endpoint, verified(connected.server.conninfo, endpoint, connected.database, level)


def _report_unreadable_log(path: Path | None, say: Callable[[str], None]) -> None:
    """Report an unreadable server log at once: otherwise only the result would show it."""
    try:
        if path is not None:
            path.open("rb").close()
    except OSError as error:
        say(f"--server-log {path} cannot be read: {error.strerror}")


def _refuse_to_write_where_nothing_can_be(job: Job, connected: ConnectedServer) -> None:
    """Refuse a load that would only fail; scripts that read run on such servers, too."""
    target, work = connected.target, job.work
    with target.understood("ask whether the server can be written to"):
        why = target.refuses_writes(connected.control)
    if not why:
        return
    for script in work.scripts(work.complete(), target.sql_dialect):
        # The statements of Lua are in its quotes.
        text = re.sub("[\"']", " ", script.text) if work.lua else script.text
        sql = Sql(text, dialect_of(connected.database))
        if table := sql.written_table or sql.locked_table:
            does = "writes to" if sql.written_table else "locks rows of"
            raise DbdynoError(
                "read_only",
                f"{why}, and {script.name} {does} {table}",
                "Run it on the primary server or as a user who may write; loads that only "
                "read, such as select-only, run here.",
            )


def find_data(job: Job, tools: Tools, observer: Observer, connected: ConnectedServer) -> DataFound:
    """Prepare the data, and read the numbers for the invariants.

    Both read tables, some of them as a whole.
    """
    say = observer.say
    prepared = prepare(connected, job, bulk=tools.load, watch=observer.loading, say=say)
    if prepared.report:
        say(load_summary(prepared.report))
    workload = job.work.workload
    if not job.options.no_vacuum and (unwritten := settle(connected, workload, prepared)):
        say(unwritten)
    if workload is None or not (job.options.check or prepared.is_loaded_by_dbdyno):
        return DataFound(values=prepared.values, before=None)
    if not job.work.is_the_workloads_alone:
        say("the invariants are not checked: the run includes your own scripts")
        return DataFound(values=prepared.values, before=None)
    before = read_before(connected, workload, prepared.values)
    return DataFound(values=prepared.values, before=before)


def _watch(job: Job, connected: ConnectedServer, data: DataFound) -> Watch | None:
    workload = job.work.workload
    if workload is None or data.before is None:
        return None
    return begin_watch(connected, workload, data.values, data.before)


def _command(job: Job, server: Server) -> list[str]:
    """Return the words that repeat the run: with a target for the same server, by its URL."""
    options = job.options
    if options.target is None:
        return arguments_of(job.items, options)
    further = zip(options.further_targets, further_urls(server.endpoint()), strict=True)
    again = with_options(
        options,
        target=repeatable(options.target, server.url),
        further_targets=tuple(repeatable(target, url) for target, url in further),
    )
    return arguments_of(job.items, again)


def with_statements_as_text(
    plan: Plan,
    statements: Sequence[Statement],
    connected: ConnectedServer,
    say: Callable[[str], None],
) -> Plan:
    """Return the plan with the reasons why these statements take no parameters, which are told.

    For ``-M extended``, in which the engine describes no statement, with the types of the others'
    parameters: a number that does not fit is sent with a wider one.
    """
    target, control = connected.target, connected.control
    scripts = list(plan.scripts)
    for statement in statements:
        script, index = scripts[statement.script], str(statement.index)
        asked = Parameters()
        if not statement.as_text:
            with target.understood("find out where it takes parameters"):
                asked = target.parameters(control, statement.sql, statement.parameters)
        refusal = asked.refusal and f"the server takes no parameter there ({asked.refusal})"
        if why := statement.as_text or refusal:
            script = replace(script, as_text={**script.as_text, index: why})
            text = " ".join(statement.source.split())
            say(f"{script.name}:{statement.line}: sent as text, because {why}: {text}")
        elif asked.types and plan.query_mode == "extended":
            types = {**script.parameter_types, index: asked.types}
            script = replace(script, parameter_types=types)
        scripts[statement.script] = script
    return replace(plan, scripts=scripts)
