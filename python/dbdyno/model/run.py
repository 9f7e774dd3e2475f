"""A run: what its folder contains, typed, with no file behind it.

This is the input of ``analysis``, ``explain`` and ``report``: plain data, and the numpy columns of
``model/tables.py``. Its :class:`Conditions` are enough for what needs no tables. Histograms remain
in the bytes that the engine wrote; :class:`Histograms` reads them.

What is computed from a run alone is a function of it. One that several need is decorated with
:func:`once`, so that each of them can call it and the first call computes it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Generic, TypeVar

import numpy as np
from msgspec import Struct

from dbdyno.errors import DbdynoError
from dbdyno.model import tables
from dbdyno.model.database import Database
from dbdyno.model.frame import Counters, FailureCount
from dbdyno.model.host import HostDescription
from dbdyno.model.plan import Plan
from dbdyno.model.record import RunRecord
from dbdyno.model.recorded_schema import RecordedSchema
from dbdyno.model.tables import Column, Columns
from dbdyno.model.telemetry import SampleSource, ServerFacts

Result = TypeVar("Result")
AnyTable = TypeVar("AnyTable", bound=tables.Table)


class UnreadableTableError(DbdynoError):
    """A table whose file is damaged: what needs it cannot be known. The message names the file."""


class Histograms(Struct, frozen=True):
    """Arithmetic on histogram bytes, done by the engine's module."""

    quantiles: Callable[[bytes, list[float]], list[int]]
    """Nanoseconds at each quantile (0 to 1)."""
    merge: Callable[[list[bytes]], bytes]
    bars: Callable[[bytes], bytes]
    """Little-endian u64 triples (low, high, count) of the bars that are not empty."""

    def bar_columns(self, histogram: bytes) -> tuple[Column, Column, Column]:
        """Return the lower and upper bounds in nanoseconds and the counts of all non-empty bars."""
        triples = np.frombuffer(self.bars(histogram), dtype="<u8").reshape(-1, 3)
        return triples[:, 0], triples[:, 1], triples[:, 2]


class Greeting(Struct, frozen=True, kw_only=True):
    """What the engine reported when it had accepted the plan."""

    processors: int | None = None
    """How many CPUs its threads could use at once; None in older runs."""
    io: str = ""
    io_reason: str = ""
    threads: int = 0


class End(Struct, frozen=True, kw_only=True):
    """What the engine reported when the run was over: ``Done`` without its histograms."""

    end: str
    measured_ns: int
    counters: Counters
    failures: list[FailureCount] = []
    tried_again: list[FailureCount] = []
    unfinished_ages_ns: list[int] = []
    cpu_us: int = 0


class RecordedProfile(Struct, frozen=True, kw_only=True):
    """What the profile of the server's processes is of: ``ProfileFacts`` without its instant."""

    hz: int
    scope: str
    source: SampleSource = "cpu-clock"
    names_kernel: bool
    lost: int


class EngineReport(Struct, frozen=True, kw_only=True):
    """What the engine and telemetry reported about themselves. None: it has not come so far."""

    hello: Greeting = Greeting()
    done: End | None = None
    profile: RecordedProfile | None = None


class RecordedPlacement(Struct, frozen=True, kw_only=True):
    """Where server and load generator were to run, and where they were found."""

    asked: dict[str, str] = {}
    """The options that requested it."""
    verified: list[str] = []
    memory_by_node_bytes: dict[str, dict[str, int]] = {}
    """The server's memory at ``begin`` and ``end``, by NUMA node."""


class Setting(Struct, frozen=True, kw_only=True):
    """A setting of the server with its value as text."""

    name: str
    value: str
    unit: str = ""


class RecordedServer(Struct, frozen=True, kw_only=True):
    """The server as it was before the load, as far as analyses use its description."""

    product: str = "postgres"
    """As in ``--server``."""
    version_number: int = 0
    build: dict[str, str] = {}
    """How its program was built; empty in older runs."""
    durability: dict[str, str] = {}
    settings: list[Setting] = []
    chosen: list[Setting] = []
    """The settings that dbdyno gave a server that it had started."""
    database_bytes: int = 0
    unreadable: list[str] = []
    placement: RecordedPlacement = RecordedPlacement()


class AsRecorded(Struct, frozen=True, kw_only=True):
    """The descriptions in the run folder, whole and as plain values: to be shown, not used."""

    plan: Mapping[str, Any] = {}
    host: Mapping[str, Any] = {}
    server: Mapping[str, Any] = {}
    engine: Mapping[str, Any] = {}
    """The engine's frames about itself: ``hello``, ``connected``, ``started``, ``done``."""


class _TableOf(Generic[AnyTable]):
    """A table of a run, under the name of the attribute; made when it is first asked for."""

    def __init__(self, kind: type[AnyTable]) -> None:
        self.kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, run: "RunTables", owner: type) -> AnyTable:
        found = self.kind(run.columns_of(self._name))
        run.__dict__[self._name] = found
        return found


class RunTables:
    """The tables of a run, with their columns as attributes: ``run.intervals.completed_ok``."""

    def columns_of(self, name: str) -> Columns:
        """The columns of a table by their names in files.

        Raises an error if its file is damaged: as an empty table it would be taken for a run in
        which nothing of the kind happened.
        """
        raise NotImplementedError

    intervals = _TableOf(tables.Intervals)
    scripts = _TableOf(tables.Scripts)
    services = _TableOf(tables.Services)
    statements = _TableOf(tables.Statements)
    failed = _TableOf(tables.FailedLatencies)
    connects = _TableOf(tables.Connects)
    lateness = _TableOf(tables.Lateness)
    worker_intervals = _TableOf(tables.WorkerIntervals)
    server_intervals = _TableOf(tables.ServerIntervals)
    script_buckets = _TableOf(tables.ScriptBuckets)
    service_buckets = _TableOf(tables.ServiceBuckets)
    statement_buckets = _TableOf(tables.StatementBuckets)
    failures = _TableOf(tables.Failures)
    slowest = _TableOf(tables.Slowest)
    windows = _TableOf(tables.Windows)
    totals = _TableOf(tables.Totals)
    progress = _TableOf(tables.Progress)
    outages = _TableOf(tables.Outages)
    statement_texts = _TableOf(tables.StatementTexts)
    samples = _TableOf(tables.Samples)
    counters = _TableOf(tables.Counters)
    levels = _TableOf(tables.Levels)
    waits = _TableOf(tables.Waits)
    blocking = _TableOf(tables.Blocking)
    log_entries = _TableOf(tables.LogEntries)
    profile_counts = _TableOf(tables.ProfileCounts)
    profile_functions = _TableOf(tables.ProfileFunctions)
    lacks = _TableOf(tables.Lacks)


TABLES: Mapping[str, type[tables.Table]] = {
    name: of.kind for name, of in vars(RunTables).items() if isinstance(of, _TableOf)
}
"""The tables of a run folder by name, in the order in which they are documented."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Conditions:
    """What was run where, and the record of it: a run without its tables."""

    record: RunRecord
    """As it was recorded: of a run that has not finished, ``full_record`` has the numbers."""
    plan: Plan
    database: Database
    """What was measured: what it does, and its words."""
    host: HostDescription = field(default_factory=HostDescription)
    server: RecordedServer = field(default_factory=RecordedServer)
    before: ServerFacts | None = None
    """The server before the load, and ``after`` it. None: not recorded."""
    after: ServerFacts | None = None
    schema: RecordedSchema | None = None
    """The database's schema before the load; None: not recorded."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Run(Conditions, RunTables):
    """Everything that one run folder contains. Compared by identity, since it contains arrays."""

    engine: EngineReport = field(default_factory=EngineReport)
    as_recorded: AsRecorded = field(default_factory=AsRecorded)
    histograms: Histograms
    columns: Mapping[str, Columns]
    """The tables as their files have them; a damaged one is missing."""
    damaged: Mapping[str, str] = field(default_factory=dict)
    """What is wrong with each table that cannot be read."""
    kept: dict[object, Any] = field(default_factory=dict, init=False, repr=False)
    """What was computed of it, by function: see :func:`once`."""

    def columns_of(self, name: str) -> Columns:
        """The columns of a table; a damaged one raises :class:`UnreadableTableError`."""
        if name in self.damaged:
            raise UnreadableTableError("damaged", self.damaged[name])
        return self.columns[name]


def once(function: Callable[[Run], Result]) -> Callable[[Run], Result]:
    """Decorate a function of a run: its result is kept for as long as that run."""

    @wraps(function)
    def kept(run: Run) -> Result:
        if function not in run.kept:
            run.kept[function] = function(run)
        found: Result = run.kept[function]
        return found

    return kept
