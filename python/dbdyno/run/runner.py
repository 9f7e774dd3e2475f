"""One run from job to record: make ready, set up, measure, conclude.

Determines the order of these phases, each of which returns a value, and what a failure in each of
them means. How each is done is elsewhere.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec

from dbdyno.databases.durability import lost_max_ms
from dbdyno.errors import DbdynoError
from dbdyno.fleet.fleet import Fleet, opened as opened_fleet
from dbdyno.home import home_folder
from dbdyno.host.describe import describe_host
from dbdyno.model.frame import Activity, Connected, Frame, Interval, Started, Transactions
from dbdyno.model.plan import Plan
from dbdyno.model.record import RunRecord
from dbdyno.model.run import Run
from dbdyno.run.conclude import EndedRun
from dbdyno.run.connected_server import ConnectedServer, connect_to
from dbdyno.run.events.happening import Happenings, happening
from dbdyno.run.invariants import Watch
from dbdyno.run.job import Job
from dbdyno.run.lua.commands import ScriptHooks, silence_reason
from dbdyno.run.measure import Measured, measure
from dbdyno.run.network_delay.way import SlowWay, slow_way
from dbdyno.run.observer import Observer, Relay
from dbdyno.run.placement import on_cpus
from dbdyno.run.readiness import DataFound, Ready, make_ready
from dbdyno.run.standbys.probing import ProbedStandbys, probing
from dbdyno.run.tools import Tools
from dbdyno.run.watching import Follower, send_server_tasks, watching
from dbdyno.servers.base import Server
from dbdyno.servers.private import PrivateServer
from dbdyno.store.files import LOG
from dbdyno.store.listing import RUNS, remove_run
from dbdyno.store.writer import RunWriter

LOG_END_LINES = 20
"""Number of a failed script's last lines that are shown: they fit on a screen, with the error."""


@dataclass(frozen=True, kw_only=True)
class _Phase:
    """What a failure in a phase means, whether it is an error or an interrupt."""

    is_kept: bool
    """Whether the run folder is kept: from the first transaction on, something was measured."""
    exit_code: int
    """That of errors: 1 as long as nothing was run, 2 afterwards (a full disk, say)."""
    on_interrupt: str = ""


_SET_UP = _Phase(is_kept=False, exit_code=1)
_MEASURE = _Phase(is_kept=True, exit_code=2)
_BEGIN = _Phase(is_kept=False, exit_code=1)
"""Looking back: whether the load began at all."""
_CONCLUDE = _Phase(
    is_kept=True,
    exit_code=2,
    on_interrupt="the results so far are kept: dbdyno report last --text",
)


def run(
    job: Job,
    tools: Tools,
    observer: Observer,
    server: Server | None = None,
    found: DataFound | None = None,
) -> Run:
    """Run and measure; the returned recording holds the final record.

    A given ``server`` gets the load, whichever the job chooses, and keeps running; its settings are
    described as usual. Its data may have been ``found`` before its caches were emptied.
    """
    if job.options.workers is None:
        tools.make_room(job.draft)
    home_folder(RUNS)
    opened = nullcontext(server) if server else job.server.open(job.clients)
    with (
        opened_fleet(job.options.workers, job.options.on_lost, observer.say) as fleet,
        opened as reached,
        connect_to(reached) as connected,
        slow_way(job.options, reached.endpoint()) as way,
        happening(job.options.events, connected, way, observer.say) as happenings,
        probing(job, connected, observer.say) as standbys,
    ):
        if fleet:
            fleet.refuse(job.draft, reached.endpoint(), job.options.threads)
            tools = replace(tools, load=fleet.while_loading(tools.load))
        ready = make_ready(
            job, tools, observer, connected, way=way, standbys=standbys.all, found=found
        )
        if fleet:
            ready = replace(ready, plan=fleet.shared(ready.plan, job.options.threads))
        with RunWriter(ready.record, ready.plan) as writer:
            observer.recorded(writer.folder)
            this = _Run(
                job, tools, observer, connected, ready, writer, way, fleet, happenings, standbys
            )
            with this.phase(_SET_UP):
                following = this.set_up()
            with this.phase(_MEASURE):
                measured = this.measure(following)
            with this.phase(_BEGIN):
                _refuse_not_begun(ready.plan, measured)
            with this.phase(_CONCLUDE):
                recording = this.conclude(measured)
    return recording


def end_with(record: RunRecord) -> None:
    """End what consists of several runs if its user interrupted this one: no other run follows."""
    if record.status == "interrupted":
        raise KeyboardInterrupt


@dataclass(frozen=True)
class _Run:
    """One run that is ready, on a running server, with its folder."""

    job: Job
    tools: Tools
    observer: Observer
    connected: ConnectedServer
    ready: Ready
    writer: RunWriter
    way: SlowWay | None
    fleet: Fleet | None
    happenings: Happenings | None
    standbys: ProbedStandbys

    @contextmanager
    def phase(self, phase: _Phase) -> Iterator[None]:
        """If the block fails, act as it means in this phase."""
        try:
            yield
        except BaseException as error:
            if not phase.is_kept:
                self._forget()
            if isinstance(error, DbdynoError):
                error.exit_code = max(error.exit_code, phase.exit_code)
            if isinstance(error, KeyboardInterrupt) and phase.on_interrupt:
                self.observer.say(phase.on_interrupt)
            raise

    def set_up(self) -> AbstractContextManager[Follower]:
        """Do and record what precedes the load; return what follows it."""
        job, server = self.job, self.connected.server
        if job.options.replace or job.server.is_passing:  # a new server has no data
            self._script.make_data(self._log)
        self.writer.write_host(msgspec.to_builtins(describe_host(server.data_directory)))
        self.ready.placed.record_memory("begin")
        self._describe()
        self._record_schema()
        self._script.begin(self._log)
        if isinstance(server, PrivateServer):
            server.wait_for_standbys(self._report)
        return watching(
            job.options,
            self.connected,
            self.ready.plan,
            self.writer,
            standbys=self.standbys.all,
            knows_sessions=self._knows_sessions,
        )

    def measure(self, following: AbstractContextManager[Follower]) -> Measured:
        """Run the engine to its end."""
        plan = self.ready.plan
        run_observer = _RunObserver(self.observer, self.ready.watch, self.happenings, self.standbys)
        with following as follower, self._log.open("a", encoding="utf-8") as log:
            shared = self.fleet.start(plan, log) if self.fleet else None
            with on_cpus(self.job.options.engine_cpus):
                engine = shared or self.tools.start(plan, log)
            meet = (
                partial(send_server_tasks, self.connected, engine, follower)
                if self._knows_sessions
                else _nobody_is_met
            )
            keep = _FrameKeeper(self.writer, follower, self.observer, meet).keep
            with self.way.probed() if self.way else nullcontext():
                measured = measure(engine, plan, run_observer, keep, self.writer.log)
            self.standbys.end()
            follower.finish()
            measured.workers = shared.workers() if shared else ()
        if self.happenings is not None:
            server = self.ready.record.server
            measured.failovers = self.happenings.records(
                lost_max_ms(self.connected.database, server["promise"], server["durability"])
            )
        measured.standbys = self.standbys.records(plan)
        if self.ready.watch is not None:
            self.ready.watch.reader.finish()
        self.ready.placed.record_memory("end")
        self._describe()
        return measured

    def conclude(self, measured: Measured) -> Run:
        """End the script, decide on validity, explain, and finish the record."""
        connected = self.connected
        if self.happenings is not None:  # another server may have the data by now
            connected = replace(connected, server=self.happenings.server)
        ended = EndedRun(
            job=self.job,
            connected=connected,
            ready=self.ready,
            measured=measured,
            script_failure=self._script.end(self._log),
            writer=self.writer,
            way=self.way,
        )
        return ended.conclude(self.tools.histograms, self._report)

    def _forget(self) -> None:
        """Remove the folder of a run in which nothing was run.

        The output of a sysbench script may say why: since its log is removed, its last lines are
        shown.
        """
        last_lines: list[str] = []
        if self.job.survey:
            with self._log.open(encoding="utf-8", errors="replace") as lines:
                last_lines = [line.rstrip("\n") for line in deque(lines, maxlen=LOG_END_LINES)]
        with suppress(OSError):  # its last lines need not reach the disk
            self.writer.close()
        remove_run(self.writer.folder)
        for line in last_lines:
            self.observer.say(line)

    @property
    def _log(self) -> Path:
        return self.writer.folder / LOG

    @property
    def _script(self) -> ScriptHooks:
        return ScriptHooks(self.tools, self.ready.plan, self.job.survey, self.observer.say)

    def _describe(self) -> None:
        """Record the server, with the memory that it has by now."""
        chosen = msgspec.to_builtins(self.connected.server.settings)
        described = msgspec.to_builtins(self.ready.description)
        placed = self.ready.placed.as_record()
        self.writer.write_server({**described, "chosen": chosen, "placement": placed})

    def _record_schema(self) -> None:
        """Record the schema; a run without it is still a run."""
        target = self.connected.target
        texts = [script.text for script in self.ready.plan.scripts]
        try:
            with target.understood("read the schema"):
                schema = target.recorded_schema(self.connected.control, texts)
        except DbdynoError as error:
            self._report(f"the schema is not recorded: {error.message}")
            return
        if schema is not None:
            self.writer.write_schema(msgspec.to_builtins(schema))

    @property
    def _knows_sessions(self) -> bool:
        """Whether no pooler is in front of the server that telemetry observes."""
        record = self.ready.record
        poolers = (one for one in record.intermediaries or () if one.kind == "pooler")
        return all(one.target != record.target for one in poolers)

    def _report(self, text: str) -> None:
        self.writer.log(text)
        self.observer.say(text)


@dataclass(frozen=True)
class _FrameKeeper:
    """Stores the engine's frames in the run folder, and passes them on to the run's follower.

    ``meet`` is called when all clients are connected.
    """

    writer: RunWriter
    follower: Follower
    observer: Observer
    meet: Callable[[], None]

    def keep(self, raw: bytes, frame: Frame) -> None:
        """Store the frame, then pass it on: what the follower writes refers to the frame."""
        if isinstance(frame, Transactions):
            self.observer.transactions(frame)
            return
        if not isinstance(frame, Activity):
            self.writer.append_frame(raw)
        if isinstance(frame, Connected):
            self.meet()
        self.follower.take(frame)


def _nobody_is_met() -> None:
    """Tell nobody which session serves which client: it is not known."""


class _RunObserver(Relay):
    """Keeps the watch over the invariants of a run in progress, and lets its events begin."""

    def __init__(
        self,
        observer: Observer,
        watch: Watch | None,
        happenings: Happenings | None,
        standbys: ProbedStandbys,
    ) -> None:
        super().__init__(observer)
        self._watch = watch
        self._happenings = happenings
        self._standbys = standbys

    def started(self, plan: Plan, started: Started) -> None:
        """Let the events and the probe of the standbys begin, then pass it on."""
        self._standbys.begin(started.measure_begin_ns)
        if self._happenings is not None:
            self._happenings.begin(started.measure_begin_ns)
        super().started(plan, started)

    def interval(self, interval: Interval) -> None:
        """Show it to the watch, then pass it on."""
        if self._watch is not None:
            self._watch.take(interval)
        super().interval(interval)


def _refuse_not_begun(plan: Plan, measured: Measured) -> None:
    """Raise the reason why there was no first transaction, if there was none."""
    if measured.has_begun:
        return
    if measured.was_interrupted:
        raise KeyboardInterrupt
    if measured.was_silent and plan.lua is not None:
        raise DbdynoError("script", silence_reason(plan), "")
    if measured.failed is not None:
        raise DbdynoError(measured.failed.code, measured.failed.message, measured.failed.hint)
    if measured.awaited:
        raise DbdynoError(
            "worker",
            f"the load did not begin: {measured.awaited}",
            "Its process answers, and its part does not go on: dbdyno workers check examines the "
            "hosts.",
        )
    why = f": {measured.done.reason}" if measured.done and measured.done.reason else ""
    raise DbdynoError(
        "engine_ended",
        f"the engine ended before the load began{why}",
        "Run dbdyno doctor to check this host.",
    )
