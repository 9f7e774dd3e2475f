"""Loads a workload's data: tables, rows in bulk, keys after the data, vacuum, a checkpoint.

``bulk``, the engine's loader, loads the rows; here is what surrounds it. A table of one piece is
loaded frozen, in the transaction that emptied it. One of several pieces is loaded on several
connections in parallel, which is faster, since the server's side of COPY takes the time. It is
frozen afterwards, which reads all of it again, so that this only pays with more than two CPUs. Both
leave every page all-visible and all-frozen.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.databases.adapter import TABLE_NEEDED, Adapter, Dialect
from dbdyno.databases.connection import Connection
from dbdyno.databases.schema import Table
from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Loaded, Progress
from dbdyno.model.plan import Endpoint, LoadColumn, LoadPlan, LoadTable
from dbdyno.workloads.status import Mark

ROWS_PER_PIECE_MIN = 50_000  # below, a separate transaction costs more than it gains

Bulk: TypeAlias = Callable[[LoadPlan], Iterable[Progress | Loaded]]


RATE_KNOWN_S, RATE_KNOWN_SHARE = 1.0, 0.1
"""The rate of loading counts as known after this time, or this share of the rows."""


class LoadProgress(Struct, frozen=True):
    """The progress of loading. ``left_s`` is None while it is unknown."""

    phase: str
    rows: int
    rows_total: int
    rows_per_s: float
    left_s: float | None


class Phase(Struct, frozen=True):
    """One step of loading, and its duration."""

    name: str
    elapsed_s: float


class LoadReport(Struct, frozen=True):
    """What was loaded. ``rows_per_s`` includes every phase, as a user experiences it.

    ``jobs`` is the maximum number of connections, ``detour`` the reason if rows were not loaded in
    the usual way, and ``unwritten`` what was not on disk at the end, if anything.
    """

    rows: int
    rows_per_s: float
    jobs: int
    phases: tuple[Phase, ...]
    detour: str = ""
    unwritten: str = ""


class LoadOrder(Struct, frozen=True, kw_only=True):
    """What to load, on how many connections at once."""

    tables: tuple[Table, ...]
    mark: Mark
    seed: int
    jobs: int
    replace: bool
    checkpoint: bool


class Loader:
    """One load, on one control connection."""

    def __init__(
        self,
        target: Adapter,
        connection: Connection,
        order: LoadOrder,
        watch: Callable[[LoadProgress], None],
    ) -> None:
        self.target = target
        self.connection = connection
        self.order = order
        self.watch = watch
        self.phases: list[Phase] = []
        self.rows_total = sum(table.rows_expected for table in order.tables)
        self.rows_loaded = 0
        with target.understood("check how rows can be loaded"):
            self._fallback = target.load_fallback(connection)

    def load(self, endpoint: Endpoint, bulk: Bulk) -> LoadReport:
        """Load everything, in order. If interrupted, the marks of the tables say so."""
        began = time.monotonic()
        if self.order.replace:
            self._drop([table.name for table in self.order.tables])
        tables, dialect = self.order.tables, self._dialect
        self._run("create", [*chain(*map(dialect.create, tables)), *self._marks(loaded=False)])
        with self._phase("fill"):
            plan = LoadPlan(
                endpoint=endpoint,
                seed=self.order.seed,
                jobs=self.order.jobs,
                tables=[self._bulk_table(table) for table in tables if table.rows],
            )
            self._fill(bulk(plan))
        # No indexes to process yet.
        self._run(dialect.tidying, [*chain(*map(dialect.filled, tables)), *dialect.tidy(tables)])
        self._run("keys", self._keys())
        self._run(
            "foreign keys",
            [dialect.add_foreign_key(table, key) for table in tables for key in table.foreign_keys],
        )
        unwritten = ""
        if self.order.checkpoint:
            with self._phase("checkpoint"):
                unwritten = self.target.checkpoint(self.connection)
        self._run("mark", self._marks(loaded=True))
        elapsed_s = time.monotonic() - began
        return LoadReport(
            rows=self.rows_loaded,
            rows_per_s=self.rows_loaded / elapsed_s,
            jobs=self.order.jobs,
            phases=tuple(self.phases),
            detour=self._fallback.reason if self._fallback else "",
            unwritten=unwritten,
        )

    @property
    def _dialect(self) -> Dialect:
        return self._fallback.dialect if self._fallback else self.target.dialect

    def _drop(self, names: Sequence[str]) -> None:
        """Drop all of the tables, or none if that would fail halfway."""
        if query := self._dialect.dependents(names):
            with self.target.understood("load (drop)"):
                found = self.connection.execute(query).fetchall()
            if found:
                which = "; ".join(sentence for (sentence,) in found)
                code, hint = TABLE_NEEDED
                raise DbdynoError(code, f"cannot load (drop): {which}", hint)
        self._run("drop", [self._dialect.drop(names)])

    def _keys(self) -> Iterator[str]:
        for table in self.order.tables:
            yield from self._dialect.add_primary_key(table)
            yield from self._dialect.continue_numbering(table)
            yield from (self._dialect.add_index(table, index) for index in table.indexes)

    def _marks(self, *, loaded: bool) -> Iterator[str]:
        mark = replace(self.order.mark, loaded=loaded)
        for table in self.order.tables:
            yield self._dialect.comment(table.name, mark.comment)

    def _bulk_table(self, table: Table) -> LoadTable:
        """Return the table's plan; the engine may divide its rows into so many pieces."""
        is_whole = self.order.jobs == 1
        pieces_max = 1 if is_whole else max(1, table.rows_expected // ROWS_PER_PIECE_MIN)
        frozen = pieces_max == 1 and self._dialect.can_fill_frozen(table)
        return LoadTable(
            name=table.name,
            before=[
                *self._dialect.before_filling(),
                *([self._dialect.empty(table)] if frozen else []),
            ],
            copy=self._dialect.fill(table, frozen=frozen),
            rows=table.rows,
            per=table.per,
            rows_total=table.rows_expected,
            pieces_max=pieces_max,
            columns=[
                LoadColumn(kind=column.load_kind, generator=column.generator)
                for column in table.columns
                if column.differs
            ],
        )

    def _fill(self, frames: Iterable[Progress | Loaded]) -> None:
        """Read the engine's frames, which count rows by table, and report the progress.

        Only the engine knows how many rows chance has made.
        """
        began = time.monotonic()
        rows_of: dict[str, int] = {}
        for frame in frames:
            if isinstance(frame, Loaded):
                self.rows_loaded = frame.rows
            else:
                rows_of[frame.table] = frame.rows
                rows, elapsed_s = sum(rows_of.values()), time.monotonic() - began
                rate = rows / elapsed_s if elapsed_s > 0 else 0.0
                # The first rows, often those of small tables, say nothing of what is left.
                is_early = elapsed_s < RATE_KNOWN_S and rows < RATE_KNOWN_SHARE * self.rows_total
                left_s = None if is_early or rate == 0 else (self.rows_total - rows) / rate
                self.watch(LoadProgress("fill", rows, self.rows_total, rate, left_s))

    def _run(self, phase: str, statements: Iterable[str]) -> None:
        with self._phase(phase):
            for statement in statements:
                self.connection.execute(statement)

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        """Time and announce a phase, and turn the server's errors into dbdyno's."""
        self.watch(LoadProgress(name, 0, self.rows_total, 0.0, None))
        began = time.monotonic()
        with self.target.understood(f"load ({name})"):
            yield
        self.phases.append(Phase(name, time.monotonic() - began))
