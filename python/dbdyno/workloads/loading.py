"""Loads a workload's data: tables, rows in bulk, keys after the data, vacuum, a checkpoint.

``bulk``, the engine's loader, loads the rows; here is what surrounds it. A table of one piece is
loaded frozen, in the transaction that emptied it. One of several pieces is loaded on several
connections in parallel, which is faster, since the server's side of COPY takes the time. It is
frozen afterwards, which reads all of it again, so that this only pays with more than two CPUs. Both
leave every page all-visible and all-frozen.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.databases.adapter import TABLE_NEEDED, Adapter, Dialect
from dbdyno.databases.connection import Connection
from dbdyno.databases.schema import FoundTable, Table
from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Loaded, Progress
from dbdyno.model.plan import Endpoint, LoadColumn, LoadPlan, LoadTable
from dbdyno.workloads.load_notes import Numbers, note, notes_of, read_notes
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

    ``rows_before`` were there before, of a load that was interrupted.
    ``jobs`` is the maximum number of connections, ``detour`` the reason if rows were not loaded in
    the usual way, and ``unwritten`` what was not on disk at the end, if anything.
    """

    rows: int
    rows_per_s: float
    jobs: int
    phases: tuple[Phase, ...]
    rows_before: int = 0
    detour: str = ""
    unwritten: str = ""


class LoadOrder(Struct, frozen=True, kw_only=True):
    """What to load, on how many connections at once; or what of it an interrupted load lacks."""

    tables: tuple[Table, ...]
    mark: Mark
    jobs: int
    replace: bool
    checkpoint: bool
    continues: bool = False


class Loader:
    """One load, on one control connection.

    ``loaded`` are the numbers, by table, of the rows that are there before it.
    """

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
        self.notes = notes_of(order.mark)
        self.loaded: dict[str, Numbers] = {}
        with target.understood("check how rows can be loaded"):
            self._fallback = target.load_fallback(connection)

    def load(self, endpoint: Endpoint, bulk: Bulk) -> LoadReport:
        """Load everything, in order. If interrupted, the marks of the tables say so."""
        began = time.monotonic()
        tables, dialect = self.order.tables, self._dialect
        if self.order.continues:
            with self.target.understood("load (read what is loaded)"):
                self.loaded = read_notes(self.connection, self.notes)
        else:
            self._create()
        with self._phase("fill"):
            plan = LoadPlan(
                endpoint=endpoint,
                seed=self.order.mark.seed,
                jobs=self.order.jobs,
                tables=[self._bulk_table(table) for table in tables if table.rows],
            )
            self._fill(bulk(plan))
        # No indexes to process yet.
        self._run(dialect.tidying, self._tidying())
        with self.target.understood("inspect the tables"):
            found = self.target.find_tables(self.connection, [table.name for table in tables])
        self._run("keys", self._keys(found))
        self._run(
            "foreign keys",
            [
                dialect.add_foreign_key(table, key)
                for table in tables
                for key in table.foreign_keys
                if key not in found[table.name].foreign_keys
            ],
        )
        unwritten = ""
        if self.order.checkpoint:
            with self._phase("checkpoint"):
                unwritten = self.target.checkpoint(self.connection)
        self._run("mark", [*self._marks(loaded=True), dialect.drop([self.notes.name])])
        elapsed_s = time.monotonic() - began
        return LoadReport(
            rows=self.rows_loaded,
            rows_per_s=self.rows_loaded / elapsed_s,
            jobs=self.order.jobs,
            phases=tuple(self.phases),
            rows_before=self._rows_before,
            detour=self._fallback.reason if self._fallback else "",
            unwritten=unwritten,
        )

    @property
    def _dialect(self) -> Dialect:
        return self._fallback.dialect if self._fallback else self.target.dialect

    def _create(self) -> None:
        """Create the tables, instead of those that are to be replaced, and that of the notes."""
        tables, dialect = self.order.tables, self._dialect
        if self.order.replace:
            self._drop([table.name for table in tables])
        with self.target.understood("inspect the tables"):
            if self.target.find_tables(self.connection, [self.notes.name]):
                self.connection.execute(dialect.drop([self.notes.name]))
        self._run(
            "create",
            [
                *chain(*map(dialect.create, [*tables, self.notes])),
                *dialect.add_primary_key(self.notes),
                *self._marks(loaded=False),
            ],
        )

    @property
    def _rows_before(self) -> int:
        """How many rows are there already; of children as many as their ancestors are to have."""
        return sum(
            round(table.rows_expected * sum(end - first for first, end in numbers) / table.rows)
            for table in self.order.tables
            if (numbers := self.loaded.get(table.name))
        )

    def _tidying(self) -> Iterator[str]:
        tables, dialect = self.order.tables, self._dialect
        yield from chain(*map(dialect.filled, tables))
        yield from dialect.tidy(tables, self.connection)

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

    def _keys(self, found: Mapping[str, FoundTable]) -> Iterator[str]:
        """Yield the statements for keys and indexes, but for those that are there already."""
        for table in self.order.tables:
            there = found[table.name]
            if not there.primary_key:
                yield from self._dialect.add_primary_key(table)
            yield from self._dialect.continue_numbering(table)
            indexed = there.unique_keys | there.indexes
            for index in table.indexes:
                if index.columns not in indexed:
                    yield self._dialect.add_index(table, index)

    def _marks(self, *, loaded: bool) -> Iterator[str]:
        mark = self.order.mark
        if loaded:
            mark = replace(mark, loaded=True, seed=0, plan="")
        for table in self.order.tables:
            yield self._dialect.comment(table.name, mark.comment)

    def _bulk_table(self, table: Table) -> LoadTable:
        """Return the table's plan; the engine may divide its rows into so many pieces."""
        is_whole = self.order.jobs == 1
        pieces_max = 1 if is_whole else max(1, table.rows_expected // ROWS_PER_PIECE_MIN)
        loaded = self.loaded.get(table.name, [])
        # What is frozen is loaded in the transaction that empties the table.
        frozen = pieces_max == 1 and not loaded and self._dialect.can_fill_frozen(table)
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
            loaded=loaded,
            note=note(self.notes, table),
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
        began, before = time.monotonic(), self._rows_before
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
                left = max(0, self.rows_total - before - rows)
                left_s = None if is_early or rate == 0 else left / rate
                self.watch(LoadProgress("fill", before + rows, self.rows_total, rate, left_s))

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
