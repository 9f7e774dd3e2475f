"""What a workload consists of: the structure of ``WORKLOAD``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct

from dbdyno.databases.adapter import Adapter
from dbdyno.databases.connection import Connection
from dbdyno.databases.schema import Table
from dbdyno.model.plan import ClientGroup, Scalar, Script
from dbdyno.model.record import CheckRecord
from dbdyno.workloads.audit import Demand, Metric
from dbdyno.workloads.conditions import Condition
from dbdyno.workloads.invariants import (
    Committed,
    Law,
    LawCheck,
    Snapshot,
    Violation,
    check_each,
    verify,
)
from dbdyno.workloads.parameters import Drawn, Parameter, Value, Values, read_all, with_defaults
from dbdyno.workloads.rows_read import are_all_read

Question: TypeAlias = Literal[
    "How many look-ups, updates and inserts a second, one statement each?",
    "How many transactions a second, as benchmarks have them?",
    "What does an isolation level cost, and what does a lower one let through?",
    "What do analysts cost the transactions beside them?",
]
"""What a workload is for, in the order in which they are listed."""


class OtherMaker(Struct, frozen=True, kw_only=True):
    """Another tool that creates the same tables, and how to determine their scale."""

    name: str
    scale_query: str


class OtherTool(Struct, frozen=True, kw_only=True):
    """Another tool for the same load, on whose tables ours does not run.

    It is known by a ``table`` of this name whose first columns are these, in this order, and
    ``differs`` says why it is of no use.
    """

    name: str
    table: str
    columns: tuple[str, ...]
    differs: str


def script_file(folder: Path, name: str, sql_dialect: str) -> Script:
    """Read ``NAME.sql`` or ``NAME.lua``, or the target's own ``NAME.WORD.sql`` if there is one."""
    endings = (f"{sql_dialect}.sql", f"{sql_dialect}.lua", "sql", "lua")
    path = next(file for ending in endings if (file := folder / f"{name}.{ending}").exists())
    text = path.read_text(encoding="utf-8")
    return Script(name=name, text=text, language="lua" if path.suffix == ".lua" else UNSET)


def insert_if_new(sql_dialect: str) -> str:
    """Return the pattern of an insert that leaves a row of the same key as it is.

    That the row exists is a result then: PostgreSQL's error for it would end the transaction.
    """
    return (
        "insert ignore into %s"
        if sql_dialect == "mysql"
        else "insert into %s on conflict do nothing"
    )


def scale_alone(values: Values, _clients: int, _seed: int) -> dict[str, Scalar]:
    """Return the one variable that most scripts start with."""
    return {"scale": values["scale"]}


def each_drawn_anew(_values: Values) -> bool:
    """Return that transactions are drawn by weight, each from all scripts, and from no deck."""
    return False


def nobody_beside(_values: Values) -> ClientGroup | None:
    """Return that all clients choose among all scripts."""
    return None


def defers_nothing(_values: Values) -> int:
    """Return that clients wait for all of their transactions, so that no others execute them."""
    return 0


def stay_as_large(_values: Values) -> Mapping[str, str]:
    """Return that runs do not add to the rows that a measure reads without end."""
    return {}


def finds_each_key(_values: Values) -> float:
    """Return that no lookup may find nothing: scripts draw only keys whose rows stay."""
    return 0.0


def are_all_cheap(_values: Values) -> bool:
    """Return that after each run all conditions are read: the data is never large."""
    return True


def demands_nothing(_values: Values) -> tuple[Demand, ...]:
    """Return that runs are not audited."""
    return ()


def calls_none(_values: Values, _sql_dialect: str) -> tuple[str, ...]:
    """Return that no script calls procedures of the server."""
    return ()


def may_write(_values: Values) -> bool:
    """Return that transactions are not declared to only read."""
    return False


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Schema, data, scripts, parameters and invariants under one name.

    ``question`` is what it answers: workloads that answer the same one are listed together.
    ``scripts`` returns what the clients run, in a target's dialect: pgbench scripts, or Lua.
    ``data`` names the family of tables: workloads that share it run on each other's data.
    ``other_maker`` is a tool whose tables are used like our own; other tables that merely have a
    workload's names and columns may be somebody's data. ``other_tools`` are those whose tables are
    no use, and are named when they are there. ``scale_name`` is the parameter for the amount of
    data. ``measures`` are queries that return one number each. ``grown`` are, for measures of
    tables that runs add to, queries of at most how many rows they read: of too many, a run reads
    none. ``laws`` apply to changes of measures in a run of this workload alone; ``balances`` apply
    from loading on, whichever workload of the family has run. ``routines`` returns the
    statements that create, in a target's dialect, the procedures which scripts call; they replace
    older ones. ``conditions`` hold for the data
    itself, at every instant; if ``reads_all_conditions`` a run reads the cheap ones each minute and
    all of them when it has ended, otherwise only the cheap ones when it has ended. ``metrics`` are
    numbers that the workload is known for, and ``demands`` are what runs are audited for.
    ``drawn`` are numbers that belong to the data, like its seed. ``variables`` returns the initial
    values of the scripts' variables, given the parameters, the number of clients and the seed of
    the run.
    ``is_deck`` tells whether each client deals its transactions from a shuffled deck, in which a
    script has as many cards as its weight says. ``beside`` returns a group of clients besides those
    of the command line, whose scripts are the last ones. ``executors`` is the number of clients
    besides them that execute what others defer, if a script is deferred.
    ``misses_allowed`` returns the share of executions of a statement that reads or updates by key
    which may find no row, because another client has just deleted it, say. ``only_reads`` returns
    whether all transactions only read: with ``--isolation`` they are then READ ONLY. Of a workload
    whose scripts differ in this, those that only read begin with ``start transaction read only``.
    """

    name: str
    summary: str
    question: Question = "How many transactions a second, as benchmarks have them?"
    parameters: tuple[Parameter, ...]
    data: str
    tables: Callable[[Values], tuple[Table, ...]]
    scripts: Callable[[Values, str], list[Script]]
    measures: Callable[[Values], Mapping[str, str]]
    laws: Callable[[Values], tuple[Law, ...]]
    balances: tuple[Law, ...]
    grown: Callable[[Values], Mapping[str, str]] = stay_as_large
    routines: Callable[[Values, str], tuple[str, ...]] = calls_none
    conditions: tuple[Condition, ...] = ()
    reads_all_conditions: Callable[[Values], bool] = are_all_cheap
    metrics: tuple[Metric, ...] = ()
    demands: Callable[[Values], tuple[Demand, ...]] = demands_nothing
    drawn: tuple[Drawn, ...] = ()
    variables: Callable[[Values, int, int], dict[str, Scalar]] = scale_alone
    is_deck: Callable[[Values], bool] = each_drawn_anew
    beside: Callable[[Values], ClientGroup | None] = nobody_beside
    executors: Callable[[Values], int] = defers_nothing
    scale_name: str = "scale"
    other_maker: OtherMaker | None = None
    other_tools: tuple[OtherTool, ...] = ()
    misses_allowed: Callable[[Values], float] = finds_each_key
    only_reads: Callable[[Values], bool] = may_write

    def read(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """Return the given parameters, checked; the others keep their defaults."""
        return read_all(self.parameters, given)

    def complete(self, read: Mapping[str, Value]) -> dict[str, Value]:
        """Return a value for every parameter, and for drawn numbers that are not known yet."""
        drawn = {one.name: read.get(one.name, one.low) for one in self.drawn}
        return with_defaults(self.parameters, read) | drawn

    def drawn_with(self, seed: int) -> dict[str, int]:
        """Return what is drawn when data is loaded with this seed."""
        return {one.name: one.draw(seed) for one in self.drawn}

    def snapshot(
        self,
        target: Adapter,
        connection: Connection,
        values: Values,
        before: Snapshot | None = None,
    ) -> Snapshot:
        """Return the current numbers that the laws of a run need, read in one snapshot.

        Those of tables that have become too large are left out. After a run they are those of
        ``before``: what is added to them costs no more to read than it cost to write.
        """
        names = _about(self.laws(values))
        with target.one_instant(connection):
            if before is None:
                grown = _read(connection, self.grown(values), names)
                names -= {name for name, rows in grown.items() if not are_all_read(rows)}
            else:
                names &= before.keys()
            return _read(connection, self.measures(values), names)

    def verify(
        self,
        values: Values,
        before: Snapshot,
        after: Snapshot,
        committed: Mapping[str, Committed],
    ) -> list[Violation]:
        """Return the laws that a run broke. ``committed`` is by script name."""
        laws = (law for law in self.laws(values) if before.keys() >= set(law.about()))
        return verify(tuple(laws), before, after, committed)

    def check(self, target: Adapter, connection: Connection, values: Values) -> list[LawCheck]:
        """Compare the current data with data just loaded, law by law."""
        with target.one_instant(connection):
            now = _read(connection, self.measures(values), _about(self.balances))
        loaded = dict.fromkeys(now, 0) | self.loaded_counts(values)
        return check_each(self.balances, loaded, now)

    def conditions_after(self, values: Values) -> tuple[Condition, ...]:
        """Return those that a run reads when it has ended."""
        is_all = self.reads_all_conditions(values)
        return tuple(one for one in self.conditions if is_all or one.is_cheap)

    def check_conditions(
        self,
        target: Adapter,
        connection: Connection,
        conditions: Sequence[Condition] | None = None,
    ) -> list[CheckRecord]:
        """Return what these conditions, or all, find in the current data, in one snapshot."""
        these = self.conditions if conditions is None else conditions
        if not these:
            return []
        with target.one_instant(connection):
            return [one.check(target.dialect, connection) for one in these]

    def loaded_counts(self, values: Values) -> Snapshot:
        """Return the rows of each table as loaded, under the name of its measure."""
        counts = {f"rows of {table.name}": table.rows for table in self.tables(values)}
        measured = self.measures(values)
        return {name: rows for name, rows in counts.items() if name in measured}


def _about(laws: tuple[Law, ...]) -> set[str]:
    return {name for law in laws for name in law.about()}


def _read(connection: Connection, queries: Mapping[str, str], names: set[str]) -> Snapshot:
    """Read only these numbers, each query once: it may read a whole table."""
    wanted = {name: query for name, query in queries.items() if name in names}
    found = {
        # Some drivers give a sum of decimals as text.
        query: int(Decimal(str(connection.execute(query).fetchone()[0])))
        for query in dict.fromkeys(wanted.values())
    }
    return {name: found[query] for name, query in wanted.items()}
