"""Records the telemetry of one run, from before the load starts until the engine has disconnected.

Determines what is read in which thread, and from when to when. It never ends a run: what cannot be
read is reported, and the connections to a server that does not answer are cut. It delays the load
until everything was read once, so that the whole of it lies between two readings, but not for long.

The server's numbers, its sessions, its log and the host are read in a thread each, so that none
waits for another. The runner's thread only passes on the engine's frames.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, get_args

import msgspec

from dbdyno.databases.connection import Connection
from dbdyno.databases.script_text import number_variables, with_variables
from dbdyno.databases.telemetry import ScriptStatement, Telemetry
from dbdyno.host.describe import ROOT
from dbdyno.host.observed_host import observe
from dbdyno.host.task_times import TaskTimes
from dbdyno.model.fitting import fit
from dbdyno.model.frame import Activity, Connected, Frame, Hello, Started, Statement
from dbdyno.model.telemetry import Level, ServerFacts, TaskClass, TelemetryCost
from dbdyno.telemetry.joining import Joiner, backends_of, with_strange_numbers
from dbdyno.telemetry.kernel_waits import KernelWaits
from dbdyno.telemetry.load_clock import LoadClock
from dbdyno.telemetry.log_follower import ConfiguredLog, LogFollower
from dbdyno.telemetry.machine_task import MachineTask
from dbdyno.telemetry.other_cost import OtherCost
from dbdyno.telemetry.pace import PACES, Stride
from dbdyno.telemetry.profile.profile_task import ProfileTask
from dbdyno.telemetry.profile.task_classifier import TaskClassifier
from dbdyno.telemetry.publisher import FramePublisher, error_line
from dbdyno.telemetry.sample_matcher import SampleMatcher
from dbdyno.telemetry.server_cpu_time import ServerCpuTime
from dbdyno.telemetry.server_task import ServerTask, StandbysTask
from dbdyno.telemetry.session_sampler import SessionSampler
from dbdyno.telemetry.statement_texts import StatementTexts
from dbdyno.telemetry.telemetry_connection import TelemetryConnection
from dbdyno.telemetry.worker import Task, Worker

# A server that answers at all has answered within this time.
PATIENCE_AT_END_S = 2.0
PATIENCE_ONCE_HUNG_UP_S = 0.5
# How long the load waits for the first readings, all together, and at least for each thread's.
BASELINE_MAX_S = 3.0
BASELINE_OF_EACH_S = 0.2


class Folder(Protocol):
    """Where the frames, facts and log lines of telemetry go."""

    def append_frames(self, frames: Sequence[bytes]) -> None:
        """Append frames."""

    def write_facts(self, facts: dict[str, Any]) -> None:
        """Write the facts about the server, before and after the load."""

    def log(self, line: str) -> None:
        """Add a line to the run's log."""


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What is recorded, and how to reach it.

    ``own_sessions`` are dbdyno's sessions that belong to no client of the load. ``log_path`` is the
    server's log if it is known; otherwise the server is queried for it. ``scripts`` are the texts
    of the load's scripts, in the order of the plan.
    """

    level: Level
    telemetry: Telemetry
    connect: Callable[[], Connection]
    process_id: int | None
    data_directory: Path | None
    log_path: Path | None
    own_sessions: frozenset[int]
    cores: int
    scripts: tuple[str, ...]
    profile_hz: int = 0
    """How often the server's processes are sampled in a second; 0 for never."""
    reconnects: bool = False
    """Whether clients connect anew for each transaction."""
    further_processes: Sequence[int] = ()
    """Of its standbys, and of further servers of the load, on this host."""
    standbys: Mapping[str, Callable[[], Connection]] = field(default_factory=dict)
    """How to reach the server's standbys, by the names under which their lag is recorded."""
    knows_sessions: bool = True
    """Whether the engine has the server's numbers for the sessions of its clients, and they keep
    them: behind a pooler it has not."""


class Recorder:
    """One run's telemetry; a context manager that leaves no thread behind."""

    def __init__(self, watched: Watched, folder: Folder) -> None:
        self._watched = watched
        self._folder = folder
        self._publisher = FramePublisher(folder.append_frames, folder.log)
        self._load_clock = LoadClock()
        self._matcher = SampleMatcher()
        self._own_sessions = set(watched.own_sessions)
        self._statements: list[ScriptStatement] = []
        self._texts = StatementTexts({})
        self._connections: list[TelemetryConnection] = []
        self._workers: list[Worker] = []
        self._sampler: SessionSampler | None = None
        self._sampler_connection: TelemetryConnection | None = None
        self._classifier = TaskClassifier(
            ROOT,
            watched.telemetry,
            self._load_sessions,
            self._own_sessions,
            reconnects=watched.reconnects,
            knows_sessions=watched.knows_sessions,
        )
        self._other_cost = OtherCost(self._other_ns, watched.cores)
        self._facts: dict[str, Any] = {}
        self._first_sessions: frozenset[int] = frozenset()
        self._last_activity: Activity | None = None
        self._began_ns: int | None = None
        self._served_before_ns = 0

    def take(self, frame: Frame) -> None:
        """Take a frame of the engine."""
        try:
            self._take(frame)
        except Exception as error:  # telemetry never ends a run
            self._publisher.publish_lack("telemetry", error_line(error))

    def _take(self, frame: Frame) -> None:
        match frame:
            case Activity():
                activity = frame if self._watched.knows_sessions else with_strange_numbers(frame)
                self._last_activity = activity
                self._matcher.add_activity(activity)
            case Hello():
                self._prepare(frame)
            case Statement():
                self._texts.add(frame.statement, frame.sql)
                sql = with_variables(frame.example, self._watched.telemetry.dialect)
                self._statements.append(ScriptStatement(frame.statement, sql))
            case Connected(backend_pids=pids):
                self._first_sessions = frozenset(pids if self._watched.knows_sessions else ())
                self._classifier.refresh()
                self._read_baselines()
            case Started():
                for worker in self._workers:
                    worker.let_read_baseline()
                self._began_ns = time.monotonic_ns()
                self._other_cost.begin()
                self._classifier.begin()
                self._served_before_ns = self._served_ns() or 0
                self._publisher.begin()
                self._load_clock.begin(frame)
            case _:
                pass

    def _read_baselines(self) -> None:
        """Let each thread read its baseline in turn: the engine waits meanwhile.

        The host's comes last: what the others use for theirs is no part of the load.
        """
        deadline = time.monotonic() + BASELINE_MAX_S
        for worker in self._workers:
            worker.let_read_baseline()
            if not worker.is_ready_within(max(deadline - time.monotonic(), BASELINE_OF_EACH_S)):
                self._publisher.publish_lack(
                    worker.task.name, "it was not ready when the load began"
                )

    def _prepare(self, hello: Hello) -> None:
        numbers = [number_variables(script) for script in self._watched.scripts]
        for number, its in enumerate(hello.statements):
            self._texts.add(number, its.sql)
            self._statements.append(ScriptStatement(number, its.sql, numbers[its.script]))
        self._workers = [
            Worker(task, self._load_clock, self._publisher)
            for task in (
                ServerTask(
                    self._connect(self._watched.telemetry),
                    self._statements,
                    self._load_sessions,
                    self._keep_facts,
                    self._publisher,
                ),
                self._watching(),
                LogFollower(
                    self._way_to_log(), self._watched.telemetry.log_reader(), self._publisher
                ),
                *self._profiles(),
                *self._following(),
                self._machine_task(hello),
            )
        ]

    def _profiles(self) -> list[Task]:
        """Return the profile of the server, if one was asked for."""
        watched = self._watched
        if not watched.profile_hz:
            return []
        return [
            ProfileTask(
                ROOT, watched.process_id, watched.profile_hz, self._classifier, self._publisher
            )
        ]

    def _following(self) -> list[Task]:
        """Return what measures the standbys, if there are some and only they know their lag."""
        make, standbys = self._watched.telemetry.standby_lag, self._watched.standbys
        if make is None or not standbys:
            return []
        reached = {
            # Its session is none of the observed server's.
            name: (TelemetryConnection(connect, self._watched.telemetry, set(), None), make())
            for name, connect in standbys.items()
        }
        self._connections += [connection for connection, _ in reached.values()]
        return [StandbysTask(self._connect(self._watched.telemetry), reached, self._publisher)]

    def served_by(self, tasks: Mapping[int, int]) -> None:
        """Take the task of this host that serves each session of the server."""
        self._classifier.served_by(tasks)

    def _load_sessions(self) -> set[int]:
        """Return the server's process numbers of the load's clients, as first and last reported."""
        last = backends_of(self._last_activity) if self._last_activity else ()
        return {*self._first_sessions, *last}

    def _watching(self) -> Task:
        telemetry = self._with_kernel(self._watched.telemetry)
        joiner = Joiner(self._texts, telemetry.conflicts, self._own_sessions)
        self._sampler_connection = self._connect(telemetry)
        self._sampler = SessionSampler(
            self._sampler_connection, self._matcher, joiner, self._stride(), self._publisher
        )
        return self._sampler

    def _stride(self) -> Stride:
        """Return the stride. Samples that stop all locking get the budget of one core only."""
        telemetry, pace = self._watched.telemetry, PACES[self._watched.level]
        if telemetry.samples_stop_locking:
            return Stride(pace, 1, lambda: 0.0, telemetry.sample_interval_min_s)
        return Stride(
            pace, self._watched.cores, self._other_cost.share, telemetry.sample_interval_min_s
        )

    def _other_ns(self) -> int:
        """Return the CPU time of all threads and connections except those of session samples."""
        others = (worker.used_ns() for worker in self._workers if worker.task is not self._sampler)
        served = (
            its.served_ns() for its in self._connections if its is not self._sampler_connection
        )
        return sum(used_ns or 0 for used_ns in (*others, *served))

    def _with_kernel(self, telemetry: Telemetry) -> Telemetry:
        """Add the kernel's waits to session samples, if the server's threads are on this host."""
        process = self._watched.process_id
        if process is None or telemetry.sessions_are_processes:
            return telemetry
        return replace(
            telemetry,
            sample_with_locks=KernelWaits(ROOT, process).added_to(telemetry.sample_with_locks),
        )

    def _machine_task(self, hello: Hello) -> Task:
        data, log = self._watched.data_directory, self._watched.log_path
        host = observe(
            self._watched.process_id,
            [pid for pid in (hello.pid, *hello.further_pids) if pid],
            [folder for folder in (data, log and log.parent) if folder],
            further_servers=self._watched.further_processes,
            carriers=hello.carrier_pids,
        )
        if self._watched.telemetry.task_classes:
            classifier = self._classifier
            host.server_tasks = TaskTimes(
                get_args(TaskClass), classifier.classify, classifier.ended
            )
        return MachineTask(host, self._session_processes, self._publisher)

    def _session_processes(self) -> set[int]:
        """Return the processes of the load's sessions, if they are processes of this host."""
        is_here = self._watched.process_id is not None
        is_process = is_here and self._watched.telemetry.sessions_are_processes
        return self._load_sessions() - {0} if is_process else set()

    def _way_to_log(self) -> Callable[[], Path | None]:
        """Return how to find the log. A remote server is not queried: its path may exist here."""
        if self._watched.log_path is not None:
            return ConfiguredLog(self._watched.log_path, self._publisher).find
        if self._watched.process_id is None:
            return lambda: None
        connection = self._connect(self._watched.telemetry)
        return partial(connection.call, connection.telemetry.log_path)

    def _connect(self, telemetry: Telemetry) -> TelemetryConnection:
        is_told = self._watched.process_id is not None and self._watched.knows_sessions
        served = ServerCpuTime(ROOT) if is_told else None
        connection = TelemetryConnection(
            self._watched.connect, telemetry, self._own_sessions, served
        )
        self._connections.append(connection)
        return connection

    def _keep_facts(self, when: str, facts: ServerFacts) -> None:
        fitted = fit(msgspec.to_builtins(facts), ServerFacts)
        for name in fitted.incomplete:
            reason = f"some {name} were of another kind than expected, and are left out"
            self._publisher.publish_lack("facts", reason)
        self._facts[when] = msgspec.to_builtins(fitted.value)
        self._publisher.deliver(self._folder.write_facts, self._facts)

    def _served_ns(self) -> int | None:
        """Return the CPU time of the server's side of all connections; None if none can be read."""
        reported_ns = [ns for its in self._connections if (ns := its.served_ns()) is not None]
        return sum(reported_ns) if reported_ns else None

    def finish(self) -> None:
        """Take the last readings after the engine has gone, and record what telemetry cost."""
        ended_ns, served_ns = time.monotonic_ns(), self._served_ns()
        self._end(PATIENCE_AT_END_S)
        if self._began_ns is not None and self._sampler is not None:
            seconds = (ended_ns - self._began_ns) / 1e9
            self._publisher.publish(self._cost(seconds, served_ns, self._sampler))
        self._publisher.close()

    def _cost(
        self, seconds: float, served_ns: int | None, sampler: SessionSampler
    ) -> TelemetryCost:
        took_ns = None if served_ns is None else served_ns - self._served_before_ns
        return TelemetryCost(
            level=self._watched.level,
            seconds=seconds,
            cpu_us=sum(worker.cpu_us for worker in self._workers),
            server_cpu_us=None if took_ns is None else took_ns // 1000,
            samples=sampler.samples,
            waits_hz=sampler.samples / seconds if seconds else 0.0,
            locks_hz=sampler.samples_of_locks / seconds if seconds else 0.0,
        )

    def _end(self, patience_s: float) -> None:
        """End all threads; hang up on a server that keeps one waiting."""
        self._load_clock.end()
        for worker in self._workers:
            worker.let_read_baseline()
        if not self._all_done_within(patience_s):
            for connection in self._connections:
                connection.hang_up()
        if self._all_done_within(PATIENCE_ONCE_HUNG_UP_S):
            for connection in self._connections:
                connection.close()

    def _all_done_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        return all(
            worker.is_done_within(max(deadline - time.monotonic(), 0)) for worker in self._workers
        )

    def __enter__(self) -> Self:
        """Return self: nothing happens before the engine's first frame."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End what :meth:`finish` has not."""
        self._publisher.close()
        self._end(0)
