"""One run from options to record: prepare, load, warm up, measure, check, record.

Determines the order of the steps; how each is done is elsewhere. Everything that can be refused is
refused before a server is started or a table touched.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace as with_options
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from dbdyno.analysis.disturbance import disturbance
from dbdyno.analysis.summarize import summarize
from dbdyno.errors import DbdynoError
from dbdyno.explain.misses import find_misses
from dbdyno.explain.sql import locked_table, written_table
from dbdyno.formatting import size
from dbdyno.home import home_folder
from dbdyno.host.describe import describe_host
from dbdyno.host.disk import free_bytes
from dbdyno.model.frame import Activity, Connected, Frame, Interval, Started, Survey
from dbdyno.model.plan import Plan
from dbdyno.model.recording import Recording
from dbdyno.run.as_text import with_statements_as_text
from dbdyno.run.command_line import arguments_of
from dbdyno.run.connected_server import ConnectedServer, connect_to
from dbdyno.run.data_preparation import load_summary, prepare, settle
from dbdyno.run.draft_plan import draft, plan_of
from dbdyno.run.explaining import explained
from dbdyno.run.grammar import WeightedName
from dbdyno.run.invariants import Watch, begin_watch
from dbdyno.run.lua.arguments import equip
from dbdyno.run.lua.commands import silence_reason
from dbdyno.run.lua.script_hooks import ScriptHooks
from dbdyno.run.measure import Measured, measure
from dbdyno.run.observer import Observer
from dbdyno.run.options import RunOptions
from dbdyno.run.outcome import first_record, with_validity
from dbdyno.run.placement import (
    PlacementRecord,
    on_cpus,
    placement_doubts,
    refuse_missing_engine_cpus,
)
from dbdyno.run.plan import client_count, refuse_contradictions
from dbdyno.run.quiet import BeforeRun
from dbdyno.run.refusals import refuse_bad_scripts, refuse_too_many, refuse_unknown_mode
from dbdyno.run.seeds import seed_of
from dbdyno.run.server_tasks import send_server_tasks
from dbdyno.run.target import is_passing, open_server, protocol_of
from dbdyno.run.tools import Tools
from dbdyno.run.validity import Limits, meant_table
from dbdyno.run.watching import Follower, watching
from dbdyno.run.work import Work, find_work
from dbdyno.servers.base import Server
from dbdyno.servers.connecting import further_urls, repeatable
from dbdyno.servers.durability import settings_by_level
from dbdyno.servers.settings import settings_summary
from dbdyno.store.listing import remove_run
from dbdyno.store.places import RUNS
from dbdyno.store.run import Run
from dbdyno.store.writer import LOG, RunWriter
from dbdyno.targets.base import ServerDescription
from dbdyno.workloads.parameters import Values
from dbdyno.workloads.preparing import Prepared

ROOM_MIN_BYTES = 16 * 2**20
"""The size of PostgreSQL's WAL files. InnoDB's tables grow by a quarter of that."""
LOG_END_LINES = 20
"""Number of a failed script's last lines that are shown: they fit on a screen, with the error."""


def run(
    items: Sequence[WeightedName],
    options: RunOptions,
    tools: Tools,
    observer: Observer,
    server: Server | None = None,
) -> Recording:
    """Run and measure; the returned recording holds the final record.

    A given ``server`` gets the load, whatever the options say about servers, and keeps running; its
    settings are described as usual.
    """
    work = find_work(items, options.script_files, options)
    options, work = equip(options, work, observer.say)
    refuse_contradictions(options)
    refuse_missing_engine_cpus(options)
    seed = seed_of(options)
    protocol = server.endpoint().protocol if server else protocol_of(options)
    refuse_unknown_mode(options.query_mode, protocol)
    drafted = draft(options, work, protocol, seed=seed)
    survey = refuse_bad_scripts(tools, drafted, observer.say)
    tools.make_room(drafted)
    home_folder(RUNS)
    opened = nullcontext(server) if server else open_server(options, client_count(options))
    with opened as reached, connect_to(reached) as connected:
        command = arguments_of(items, _repeatable(options, reached))
        return _Run(options, work, survey, command, seed, tools, observer, connected).measured()


def _repeatable(options: RunOptions, server: Server) -> RunOptions:
    """Return the options as they are recorded: with a target for the same server, by its URL."""
    if options.target is None:
        return options
    further = zip(options.further_targets, further_urls(server.endpoint()), strict=True)
    return with_options(
        options,
        target=repeatable(options.target, server.url),
        further_targets=tuple(repeatable(target, url) for target, url in further),
    )


@dataclass
class _Run:
    """One run on a running server."""

    options: RunOptions
    work: Work
    survey: Survey | None
    command: list[str]
    seed: int
    tools: Tools
    observer: Observer
    connected: ConnectedServer

    def measured(self) -> Recording:
        """Do everything from the data to the verdict."""
        if self._is_new_and_empty():
            self.observer.say("without --target, the scripts run on a new and empty server")
        self._report_settings()
        self._report_unreadable_log()
        placed = PlacementRecord(self.connected.server, self.options)
        for line in placed.verified:
            self.observer.say(f"placement: {line}")
        self._refuse_to_write_where_nothing_can_be()
        servers = 1 + len(self.options.further_targets)
        here = -(-client_count(self.options) // servers)  # clients begin with the servers in turn
        refuse_too_many(here, self.connected.free_connections)
        values, watch = self._prepared()
        host = BeforeRun(self.options, self.connected.server.process_id, self.observer.say)
        endpoint, sql_dialect = self.connected.server.endpoint(), self.connected.target.sql_dialect
        plan = plan_of(
            self.options, self.work, values, endpoint, sql_dialect=sql_dialect, seed=self.seed
        )
        if plan.lua is None:
            statements = self.tools.statements_with_variables(plan)
            plan = with_statements_as_text(plan, statements, self.connected, self.observer.say)
        description = self.connected.description()
        host.look()
        record = first_record(
            plan, self.work.name, self.connected.server, description, self.options
        )
        script = ScriptHooks(self.tools, plan, self.survey, self.observer.say)
        record = replace(record, command=self.command)
        with RunWriter(record, plan) as writer:
            with self._beforehand(writer):
                if self._makes_its_data():
                    script.make_data(writer.folder / LOG)
                writer.write_host(
                    msgspec.to_builtins(describe_host(self.connected.server.data_directory))
                )
                placed.record_memory("begin")
                self._describe(writer, description, placed)
                self._record_schema(writer, plan)
                script.begin(writer.folder / LOG)
                following = watching(self.options, self.connected, plan, writer)
            with _as_failed_run():
                measured = self._measure(writer, plan, watch, following)
                placed.record_memory("end")
                self._describe(writer, description, placed)
                if measured.has_begun:
                    with self._kept():
                        measured.script_failure = script.end(writer.folder / LOG)
                        return self._conclude(writer, plan, measured, watch, values)
            self._forget(writer)
        raise _not_begun(plan, measured)

    @contextmanager
    def _beforehand(self, writer: RunWriter) -> Iterator[None]:
        """If the block fails, which precedes the load, nothing was run."""
        try:
            yield
        except BaseException:
            self._forget(writer)
            raise

    def _forget(self, writer: RunWriter) -> None:
        """Remove the folder of a run in which nothing was run.

        The output of a sysbench script may say why: since its log is removed, its last lines are
        shown.
        """
        last_lines = _last_lines(writer.folder / LOG) if self.survey else []
        with suppress(OSError):  # its last lines need not reach the disk
            writer.close()
        remove_run(writer.folder)
        for line in last_lines:
            self.observer.say(line)

    def _makes_its_data(self) -> bool:
        """Whether the script prepares its data: on request, or on a new server, which has none."""
        return self.options.replace or is_passing(self.options)

    def _refuse_to_write_where_nothing_can_be(self) -> None:
        """Refuse a load that would only fail; scripts that read run on such servers, too."""
        target = self.connected.target
        with target.understood("ask whether the server can be written to"):
            why = target.refuses_writes(self.connected.control)
        if not why:
            return
        for script in self.work.scripts(self.work.complete(), target.sql_dialect):
            written = written_table(script.text)
            if table := written or locked_table(script.text):
                does = "writes to" if written else "locks rows of"
                raise DbdynoError(
                    "read_only",
                    f"{why}, and {script.name} {does} {table}",
                    "Run it on the primary server or as a user who may write; loads that only "
                    "read, such as select-only, run here.",
                )

    def _is_new_and_empty(self) -> bool:
        """Whether the server has nothing but what the user's own scripts create."""
        return is_passing(self.options) and self.work.workload is None and self.work.lua is None

    def _report_settings(self) -> None:
        if self.options.durability is not None:
            for line in settings_by_level(self.options.durability):
                self.observer.say(line)
        settings = self.connected.server.settings
        if settings:
            self.observer.say(settings_summary(settings))

    def _report_unreadable_log(self) -> None:
        """Report an unreadable server log at once: otherwise only the result would show it."""
        path = self.options.server_log
        try:
            if path is not None:
                path.open("rb").close()
        except OSError as error:
            self.observer.say(f"--server-log {path} cannot be read: {error.strerror}")

    def _prepared(self) -> tuple[Values, Watch | None]:
        """Prepare the data, and read the numbers for the invariants."""
        prepared = prepare(
            self.connected,
            self.work,
            self.options,
            seed=self.seed,
            bulk=self.tools.load,
            watch=self.observer.loading,
            say=self.observer.say,
        )
        if prepared.report:
            self.observer.say(load_summary(prepared.report))
        if not self.options.no_vacuum:
            self._settle(prepared)
        workload = self.work.workload
        if workload is None or not self._checks(is_loaded_by_dbdyno=prepared.is_loaded_by_dbdyno):
            return prepared.values, None
        return prepared.values, begin_watch(self.connected, workload, prepared.values)

    def _settle(self, prepared: Prepared) -> None:
        if unwritten := settle(self.connected, self.work.workload, prepared):
            self.observer.say(unwritten)

    def _checks(self, *, is_loaded_by_dbdyno: bool) -> bool:
        """Whether the invariants can be checked for this run."""
        if not self.options.check and not is_loaded_by_dbdyno:
            return False
        if not self.work.is_the_workloads_alone:
            self.observer.say("the invariants are not checked: the run includes your own scripts")
        return self.work.is_the_workloads_alone

    def _describe(
        self, writer: RunWriter, description: ServerDescription, placed: PlacementRecord
    ) -> None:
        chosen = msgspec.to_builtins(self.connected.server.settings)
        described = msgspec.to_builtins(description)
        writer.write_server({**described, "chosen": chosen, "placement": placed.as_record()})

    def _record_schema(self, writer: RunWriter, plan: Plan) -> None:
        """Record the schema; a run without it is still a run."""
        target = self.connected.target
        texts = [script.text for script in plan.scripts]
        try:
            with target.understood("read the schema"):
                schema = target.recorded_schema(self.connected.control, texts)
        except DbdynoError as error:
            self._report(writer, f"the schema is not recorded: {error.message}")
            return
        if schema is not None:
            writer.write_schema(msgspec.to_builtins(schema))

    def _measure(
        self,
        writer: RunWriter,
        plan: Plan,
        watch: Watch | None,
        following: AbstractContextManager[Follower],
    ) -> Measured:
        run_observer = _RunObserver(self.observer, watch)
        with (
            following as follower,
            (writer.folder / LOG).open("a", encoding="utf-8") as log,
        ):
            with on_cpus(self.options.engine_cpus):
                engine = self.tools.start(plan, log)
            keep = _FrameKeeper(
                writer, follower, partial(send_server_tasks, self.connected, engine)
            ).keep
            measured = measure(engine, plan, run_observer, keep, writer.log)
            follower.finish()
        return measured

    def _report(self, writer: RunWriter, text: str) -> None:
        writer.log(text)
        self.observer.say(text)

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """When the verdict is interrupted, report that the results are kept."""
        try:
            yield
        except KeyboardInterrupt:
            self.observer.say("the results so far are kept: dbdyno report last --text")
            raise

    def _conclude(
        self,
        writer: RunWriter,
        plan: Plan,
        measured: Measured,
        watch: Watch | None,
        values: Values,
    ) -> Recording:
        violations = (
            watch.violations(self.connected, measured.done) if watch and measured.done else []
        )
        recording = Run(writer.folder).recording()
        summary = summarize(recording, self.tools.histograms)
        verdict = with_validity(
            summary,
            plan,
            measured,
            limits=Limits(self.options.failures_max, self.options.disturbance_max),
            violations=violations,
            disturbance=disturbance(recording, summary.duration_s or 0.0),
            misses=find_misses(recording, self.work.misses_allowed(values)),
            doubts=[
                *(watch.doubts if watch else []),
                *placement_doubts(self.connected.server, self.options),
            ],
        )
        verdict = replace(verdict, invariants_read=watch.read if watch else [])
        if not verdict.valid and (full := _full_disk(self.connected.server.data_directory)):
            verdict = replace(verdict, invalid_reasons=[*verdict.invalid_reasons, full])
        worked = verdict.transactions is not None and verdict.transactions.ok > 0
        is_hopeless = measured.done is not None and measured.done.end == "aborted"
        if is_hopeless and self._is_new_and_empty() and not worked:
            why = "the server was new and empty: name the one that has your tables with --target"
            verdict = replace(verdict, invalid_reasons=[*verdict.invalid_reasons, why])
        elif meant := meant_table(verdict.invalid_reasons, recording.schema.get("tables", ())):
            verdict = replace(verdict, invalid_reasons=[*verdict.invalid_reasons, meant])
        complete = replace(recording, record=verdict)
        final = explained(complete, self.tools.histograms, partial(self._report, writer))
        writer.finish(replace(complete, record=final))
        return replace(recording, record=writer.record)  # the same tables, with the verdict


@dataclass(frozen=True)
class _FrameKeeper:
    """Stores the engine's frames in the run folder, and passes them on to the run's follower.

    ``meet`` is called when all clients are connected.
    """

    writer: RunWriter
    follower: Follower
    meet: Callable[[], None]

    def keep(self, raw: bytes, frame: Frame) -> None:
        """Store the frame, then pass it on: what the follower writes refers to the frame."""
        if not isinstance(frame, Activity):
            self.writer.append_frame(raw)
        if isinstance(frame, Connected):
            self.meet()
        self.follower.take(frame)


class _RunObserver:
    """Everyone who follows a run in progress."""

    def __init__(self, observer: Observer, watch: Watch | None) -> None:
        self._observer = observer
        self._watch = watch
        self.say = observer.say
        self.loading = observer.loading

    def started(self, plan: Plan, started: Started) -> None:
        self._observer.started(plan, started)

    def interval(self, interval: Interval) -> None:
        if self._watch is not None:
            self._watch.commits.add(interval)
        self._observer.interval(interval)


def _last_lines(log: Path) -> list[str]:
    with log.open(encoding="utf-8", errors="replace") as lines:
        return [line.rstrip("\n") for line in deque(lines, maxlen=LOG_END_LINES)]


def _full_disk(folder: Path | None) -> str:
    """Return that the disk of a server's data is full; nothing if there is room, or it is unknown.

    Some servers answer nothing any more, and others that a table is full.
    """
    if folder is None or (free := free_bytes(folder)) >= ROOM_MIN_BYTES:
        return ""
    return f"the disk of the server's data is full: {size(free)} are left for {folder}"


@contextmanager
def _as_failed_run() -> Iterator[None]:
    """An error from here on (a full disk, say) is the failure of a run that had begun."""
    try:
        yield
    except DbdynoError as error:
        error.exit_code = 2
        raise


def _not_begun(plan: Plan, measured: Measured) -> BaseException:
    """Return the reason why there was no first transaction."""
    if measured.was_interrupted:
        return KeyboardInterrupt()
    if measured.was_silent and plan.lua is not None:
        return DbdynoError("script", silence_reason(plan), "")
    if measured.failed is not None:
        return DbdynoError(measured.failed.code, measured.failed.message, measured.failed.hint)
    return DbdynoError(
        "engine_ended",
        "the engine ended before the load began",
        "Run dbdyno doctor to check this host.",
    )
