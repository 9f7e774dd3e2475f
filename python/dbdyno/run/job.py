"""What is about to run: read from words and options once, checked once, then passed along.

Everything that can be refused without a server is refused here, with a message, before a server is
started or a table touched. A job that was checked contains no option that has to be parsed again.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from msgspec import UNSET
from msgspec.structs import replace as with_fields

from dbdyno.databases.isolation import refuse_missing_level
from dbdyno.databases.known import native_database
from dbdyno.errors import DbdynoError
from dbdyno.explain.statements.sql import Sql, dialect_of
from dbdyno.model.frame import Survey
from dbdyno.model.plan import Address, Endpoint, Plan, Protocol, QueryMode, UnixSocket
from dbdyno.run.lua.arguments import equip, with_general_arguments
from dbdyno.run.lua.commands import survey_command
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.plan import client_count, make_plan, needs_proxy, refuse_contradictions
from dbdyno.run.target import New, ServerChoice, choose_server
from dbdyno.run.tools import Tools
from dbdyno.run.work import Work, find_work
from dbdyno.servers.placement import refuse_missing_cpus
from dbdyno.servers.spec import ServerSpec
from dbdyno.workloads.parameters import Values

if TYPE_CHECKING:
    from dbdyno.engine import Problem

Say = Callable[[str], None]

_SEED_BITS = 32


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run, or another use of a workload or script, before there is a server.

    ``options`` include those that sysbench's options stand for. ``survey`` is what the engine found
    in a sysbench script; None for other scripts. With ``reports_transactions`` the observer of its
    run is told of every transaction.
    """

    items: tuple[WeightedName, ...]
    options: RunOptions
    work: Work
    server: ServerChoice
    seed: int
    survey: Survey | None = None
    reports_transactions: bool = False

    @property
    def clients(self) -> int:
        """Number of connections of the load."""
        values = self.work.complete()
        beside = self.work.beside(values)
        others = (beside.clients if beside else 0) + self.work.executors(values)
        return client_count(self.options) + others

    @property
    def is_on_empty_server(self) -> bool:
        """Whether the server has nothing but what the user's own scripts create."""
        return self.server.is_passing and self.work.workload is None and self.work.lua is None

    def with_options(self, **changes: Any) -> Self:
        """Return the same job with other options of its load; a seed that was drawn is drawn anew.

        Options that choose the server or the work are part of the job already.
        """
        options = replace(self.options, **changes)
        return replace(self, options=options, seed=_seed_of(options))

    def plan(self, values: Values, endpoint: Endpoint, sql_dialect: str) -> Plan:
        """Return the plan, with the workload's scripts in this SQL dialect."""
        plan = make_plan(
            self.options,
            endpoint=endpoint,
            scripts=self.work.scripts(values, sql_dialect),
            variables=self.work.all_variables(values, client_count(self.options), self.seed),
            lua=self.work.lua and with_general_arguments(self.work.lua, self.options),
            seed=self.seed,
            is_deck=self.work.is_deck(values),
            beside=self.work.beside(values),
            executors=self.work.executors(values),
        )
        # Left out of a plan that does not ask for it.
        return with_fields(plan, reports="transactions" if self.reports_transactions else UNSET)

    @cached_property
    def draft(self) -> Plan:
        """A plan with a dummy endpoint: the check of scripts does not need the address."""
        protocol = self.server.protocol
        address = Address(unix=UnixSocket(path=""))
        nowhere = Endpoint(protocol=protocol, address=address, user="", database="")
        return self.plan(self.work.complete(), nowhere, protocol)


def check(
    items: Sequence[WeightedName],
    options: RunOptions,
    tools: Tools,
    say: Say,
    refuse: Callable[[RunOptions], None] = refuse_contradictions,
) -> Job:
    """Return the job that the words and options request; raise what is wrong with it."""
    return check_scripts(read_job(items, options, say, refuse), tools, say)


def read_job(
    items: Sequence[WeightedName],
    options: RunOptions,
    say: Say,
    refuse: Callable[[RunOptions], None] = refuse_contradictions,
) -> Job:
    """Return the job without asking the engine about its scripts.

    ``refuse`` refuses combinations of options: commands other than ``run`` take only some of them.
    """
    work = find_work(items, options.script_files, options)
    options, work = equip(options, work, say)
    refuse(options)
    if options.engine_cpus:
        refuse_missing_cpus("--engine-cpus", options.engine_cpus)
    server = choose_server(options)
    _refuse_events(options, server)
    if work.reads_on_standbys:
        _refuse_reads(options, work, server)
    return Job(
        items=tuple(items),
        options=options,
        work=work,
        server=server,
        seed=_seed_of(options),
    )


def check_scripts(job: Job, tools: Tools, say: Say) -> Job:
    """Let the engine check the scripts, as it will have to run them."""
    _refuse_unknown_mode(job.options.query_mode, job.server.protocol)
    if job.options.isolation and job.server.protocol != "odbc":  # what its driver leads to is open
        # What else speaks a protocol has no more levels than the database that it was made for.
        refuse_missing_level(job.options.isolation, native_database(job.server.protocol))
    if job.work.lua is not None:
        return replace(job, survey=survey_command(tools, job.draft, "run"))
    _refuse_problems(tools.check_plan(job.draft), say)
    if job.work.reads_on_standbys:
        _refuse_to_write_on_standbys(job)
    return job


def _seed_of(options: RunOptions) -> int:
    """The seed of all random numbers, which the record contains: as given, or else drawn."""
    return secrets.randbits(_SEED_BITS) if options.seed is None else options.seed


def _refuse_events(options: RunOptions, server: ServerChoice) -> None:
    """Refuse events that dbdyno cannot make happen to this server."""
    ours = next((event for event in options.events if event.action != "exec"), None)
    if ours and not server.is_passing:
        raise DbdynoError(
            code="usage",
            message=f"--event {ours} is only for a new private server",
            hint="Have a command of your own do it: --event TIME:exec:COMMAND.",
        )
    spec = server.spec if isinstance(server, New) else ServerSpec()
    standbys = spec.standbys
    promoted = [event.standby for event in options.events if event.action == "promote"]
    if len(promoted) > 1 or max(promoted, default=0) > standbys:
        raise DbdynoError(
            code="usage",
            message=f"--event promotes standby {max(promoted)}, and the server has {standbys}"
            if max(promoted) > standbys
            else "--event can promote one standby: the others do not follow it",
            hint=f"Write --server {spec.kind},standbys=1 --event TIME:promote:1.",
        )


def _refuse_reads(options: RunOptions, work: Work, server: ServerChoice) -> None:
    """Refuse scripts of the role read where there is no standby, or no way to it."""
    why = hint = ""
    has_standbys = server.spec.standbys if isinstance(server, New) else options.further_targets
    if not has_standbys:
        why = "the role read needs a standby to read from"
        hint = (
            "Write --server postgres,standbys=1, or name standbys of the target: --further-target."
        )
    elif server.protocol == "odbc":
        why = "the role read does not exist for databases behind ODBC"
        hint = "Leave it out."
    elif options.network_delay_ns is not None or needs_proxy(options):
        why = "the role read and --network-delay, or events that cut or promote, exclude each other"
        hint = "Reading clients go straight to the standbys: leave one of them out."
    elif work.role == "read" and any(
        script.language for script in work.scripts(work.complete(), server.protocol)
    ):
        why = f"the scripts of {work.name} are written in Lua, and do not run on standbys"
        hint = "Only scripts in pgbench's language have the role read."
    if why:
        raise DbdynoError(code="usage", message=why, hint=hint)


def _refuse_to_write_on_standbys(job: Job) -> None:
    """Refuse scripts of the role read that write: each of their transactions would fail."""
    dialect = dialect_of(native_database(job.server.protocol))
    for script in job.draft.scripts:
        sql = Sql(script.text, dialect)
        if script.is_on_standby and (table := sql.written_table or sql.locked_table):
            does = "writes to" if sql.written_table else "locks rows of"
            raise DbdynoError(
                "read_only",
                f"{script.name} has the role read, and {does} {table}",
                "Standbys only read: leave the role out.",
            )


def _refuse_unknown_mode(mode: QueryMode | None, protocol: Protocol) -> None:
    """Refuse a query mode that the protocol does not have."""
    database = native_database(protocol)
    if mode and (instead := database.lacks_modes.get(mode)):
        raise DbdynoError(
            code="usage",
            message=f"-M {mode} is not available with {database.title}'s protocol",
            hint=instead,
        )


def _refuse_problems(problems: Sequence["Problem"], say: Say) -> None:
    """Raise all errors of the scripts at once; report the warnings."""
    for problem in problems:
        if problem.severity == "warning":
            say(f"warning: {_problem_text(problem)}")
    errors = [_problem_text(problem) for problem in problems if problem.severity == "error"]
    if errors:
        raise DbdynoError(
            code="script",
            message="\n".join(errors),
            hint="Nothing was run. Scripts are written in pgbench's script language.",
        )


def _problem_text(problem: "Problem") -> str:
    near = f' at "{problem.text}"' if problem.text else ""
    if not problem.script or not problem.line:  # concerns no particular line
        return f"{problem.message}{near}"
    return f"{problem.script}:{problem.line}:{problem.column}: {problem.message}{near}"
