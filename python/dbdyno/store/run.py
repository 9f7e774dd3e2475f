"""Reads one run folder: finished, running, or left behind by a process that died.

Reading never changes a folder. As long as ``frames.bin`` exists, it is authoritative, and tables
are made from it in memory; afterwards they come from the Parquet files.
"""

import warnings
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from dbdyno.databases.known import recorded_database
from dbdyno.model.fitting import fit
from dbdyno.model.host import HostDescription
from dbdyno.model.plan import (
    Address,
    Arrivals,
    ClosedArrivals,
    Endpoint,
    OpenArrivals,
    Plan,
    Script,
    Stage,
)
from dbdyno.model.record import RunRecord, Status
from dbdyno.model.recorded_schema import RecordedSchema
from dbdyno.model.run import (
    TABLES,
    AsRecorded,
    Conditions,
    EngineReport,
    Histograms,
    RecordedServer,
    Run,
    RunTables,
)
from dbdyno.model.tables import Columns
from dbdyno.model.telemetry import facts_of
from dbdyno.store.columns import TableBuilder
from dbdyno.store.errors import FROM_A_COPY, LeftOut, StoreError
from dbdyno.store.files import (
    ENGINE,
    FACTS,
    HOST,
    LOG,
    PLAN,
    RECORD,
    SCHEMA,
    SERVER,
    own_file,
    read_json,
)
from dbdyno.store.frames_file import FRAMES, FramesReader, read_frames
from dbdyno.store.listing import Stamp, find_run, read_record, stamps_of
from dbdyno.store.parquet import read_table, table_path
from dbdyno.store.secrets import plan_to_keep
from dbdyno.store.tabulator import Tabulator

_DESCRIBED = (RECORD, PLAN, HOST, SERVER, FACTS, SCHEMA)


class RunFolder(RunTables):
    """One run folder.

    Each table is an attribute, and so are its columns: ``run.intervals.completed_ok``.
    ``columns(name)`` returns the columns by name, ``frame(name)`` the table as a data frame;
    ``tables`` lists the names. ``plan``, ``host``, ``server`` and so on are plain values as their
    files have them; ``conditions`` has them typed.
    """

    tables = tuple(TABLES)

    def __init__(self, folder: Path, frames_so_far: Tabulator | None = None) -> None:
        self.folder = folder
        self.record = read_record(folder)
        self._frames_so_far = frames_so_far

    @property
    def run_id(self) -> str:
        """The folder's name."""
        return self.record.run_id

    @property
    def status(self) -> Status:
        """``running``, ``done``, ``failed`` or ``interrupted``."""
        return self.record.status

    @cached_property
    def plan(self) -> dict[str, Any]:
        """The plan that the engine executed; of an imported run, one of what is known."""
        if self.record.imported:
            return plan_to_keep(stand_in_plan(self.record))
        path = self.folder / PLAN
        found = read_json(path)
        try:
            msgspec.convert(found, Plan)
        except msgspec.ValidationError as error:
            raise StoreError("damaged", f"{path} is not a plan: {error}", FROM_A_COPY) from error
        return found

    @cached_property
    def host(self) -> dict[str, Any]:
        """The host."""
        return self._if_readable(HOST)

    @cached_property
    def server(self) -> dict[str, Any]:
        """The server and its settings."""
        return self._if_readable(SERVER)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The server's tables, plans and settings before the load and after it."""
        return self._if_readable(FACTS)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The database's schema before the load; empty if it was not recorded."""
        return self._if_readable(SCHEMA)

    @cached_property
    def conditions(self) -> Conditions:
        """All of the above, typed, as far as what an older dbdyno wrote fits."""
        plan = msgspec.convert(self.plan, Plan)
        return Conditions(
            record=self.record,
            plan=plan,
            database=recorded_database(self.server, plan.endpoint.protocol),
            host=fit(self.host, HostDescription).value,
            server=fit(self.server, RecordedServer).value,
            before=facts_of(self.facts.get("before")),
            after=facts_of(self.facts.get("after")),
            schema=fit(self.schema, RecordedSchema).value if self.schema else None,
        )

    @property
    def log(self) -> str:
        """The log so far."""
        return own_file(self.folder / LOG).read_text(encoding="utf-8", errors="replace")

    @property
    def engine(self) -> dict[str, Any]:
        """What the engine reported about itself."""
        return self._raw.engine if self._raw else self._if_readable(ENGINE)

    def _if_readable(self, name: str) -> dict[str, Any]:
        """Return a file that a run may lack, as if it did where it is damaged, with a warning."""
        try:
            return read_json(self.folder / name)
        except StoreError as error:
            warnings.warn(LeftOut(f"{name} is left out: {error.message}"), stacklevel=2)
            return {}

    def columns(self, name: str) -> Columns:
        """Return a table as numpy columns of equal length."""
        if name not in TABLES:
            known = ", ".join(self.tables)
            raise StoreError("no_table", f"A run has no table {name!r}.", f"There are {known}.")
        if self._raw:
            return self._raw_tables[name]
        if not own_file(table_path(self.folder, name)).exists():
            return TableBuilder(TABLES[name]).columns()  # a run recorded before this table existed
        return read_table(self.folder, name)

    columns_of = columns

    def frame(self, name: str) -> Any:
        """Return a table as a data frame of pandas or polars, if installed; else numpy columns."""
        columns = self.columns(name)
        for library in ("pandas", "polars"):
            if find_spec(library):
                return import_module(library).DataFrame(columns)
        return columns

    def load(self, histograms: Histograms) -> Run:
        """Return the whole run, in memory, for analysis and report.

        A damaged table is left out with a warning: only what needs it cannot be known. Without
        record or plan nothing can, and :class:`StoreError` names the file.
        """
        readable, damaged = dict[str, Columns](), dict[str, str]()
        for name in () if self._raw else self.tables:
            try:
                readable[name] = self.columns(name)
            except StoreError as error:
                damaged[name] = error.message
                warnings.warn(LeftOut(f"table {name} is left out: {error.message}"), stacklevel=2)
        return Run(
            **vars(self.conditions),
            engine=fit(self.engine, EngineReport).value,
            as_recorded=AsRecorded(
                plan={} if self.record.imported else self.plan,
                host=self.host,
                server=self.server,
                engine=self.engine,
            ),
            histograms=histograms,
            columns=self._raw_tables if self._raw else readable,
            damaged=damaged,
        )

    def forget_tables(self) -> None:
        """Make the tables of the frames again when they are next asked for."""
        vars(self).pop("_raw_tables", None)

    @cached_property
    def _raw(self) -> Tabulator | None:
        """The tables of the frames; None once the Parquet files have replaced them."""
        if self._frames_so_far is not None:
            return self._frames_so_far
        path = self.folder / FRAMES
        tabulator = Tabulator()
        try:
            tabulator.take(read_frames(own_file(path)))
        except FileNotFoundError:
            return None
        except (StoreError, ValueError, TypeError, OverflowError, AttributeError) as error:
            if not tabulator.engine:
                raise
            reason = f"{path} is damaged, and is read as far as that: {error}"
            warnings.warn(LeftOut(reason), stacklevel=2)
        return tabulator

    @cached_property
    def _raw_tables(self) -> Mapping[str, Columns]:
        return self._raw.tables() if self._raw else {}


class FollowedRun:
    """A run that is being written, read further each time: only what is new is decoded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._reader = FramesReader(own_file(folder / FRAMES))
        self._tabulator = Tabulator()
        self._described: RunFolder | None = None
        self._stamps: dict[str, dict[str, Stamp]] = {}

    def has_more(self) -> bool:
        """Whether something was written since the last time."""
        return self._reader.has_more()

    def load(self, histograms: Histograms) -> Run:
        """Return the run so far; earlier ones stay as they are."""
        self._tabulator.take(self._reader.read())
        stamps = {file: stamps_of([self.folder], file) for file in _DESCRIBED}
        if self._described is None or stamps != self._stamps:
            self._described, self._stamps = RunFolder(self.folder, self._tabulator), stamps
        self._described.forget_tables()
        return self._described.load(histograms)

    def close(self) -> None:
        """Close the file of frames."""
        self._reader.close()


def stand_in_plan(record: RunRecord) -> Plan:
    """A plan for an imported run, which had none: of what its text says, and else of defaults.

    Whoever shows conditions shows those of the text: see ``RunRecord.imported``.
    """
    told = record.imported
    assert told is not None
    is_open = told.loop == "open"
    length_ns = None if record.duration_s is None else round(record.duration_s * 1e9)
    return Plan(
        endpoint=Endpoint(address=Address(), user="", database=""),
        scripts=[Script(name=one.name, weight=one.weight, text="") for one in record.scripts]
        or [Script(name=record.workload, text="")],
        variables={} if told.scale is None else {"scale": told.scale},
        seed=0,
        clients=told.clients or 0,
        threads=told.threads or 0,
        arrivals=Arrivals(open=OpenArrivals()) if is_open else Arrivals(closed=ClosedArrivals()),
        stages=[Stage(duration_ns=length_ns, rate_tps=told.rate_tps)],
        warmup_ns=0,
    )


def open_run(id_or_path: str | Path, home: Path | None = None) -> RunFolder:
    """Open a run by its folder, its ID, a unique part of its ID, or ``last``."""
    return RunFolder(find_run(id_or_path, home))
