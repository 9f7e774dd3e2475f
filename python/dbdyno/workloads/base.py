"""What a workload is: the shape of ``WORKLOAD``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from dbdyno.model.plan import Scalar, Script
from dbdyno.targets.base import Target
from dbdyno.targets.connection import Connection
from dbdyno.targets.schema import Table
from dbdyno.workloads.invariants import Committed, Law, Snapshot, Violation, verify
from dbdyno.workloads.parameters import Parameter, Value, Values, read_all, with_defaults


class OtherMaker(Struct, frozen=True, kw_only=True):
    """Another tool that makes the same tables, and how to see at which scale."""

    name: str
    scale_query: str


def script_file(folder: Path, name: str, words: str) -> Script:
    """``NAME.sql``, or ``NAME.WORDS.sql`` where a target's words are others."""
    own = folder / f"{name}.{words}.sql"
    path = own if own.exists() else folder / f"{name}.sql"
    return Script(name=name, text=path.read_text(encoding="utf-8"))


def scale_alone(values: Values, _clients: int) -> dict[str, Scalar]:
    """The one variable that most scripts begin with."""
    return {"scale": values["scale"]}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Schema, data, scripts, parameters and invariants under one name.

    ``scripts`` are what its clients run, in the words of a target. ``data`` names
    the tables' family: workloads that share it run on each other's data.
    ``other_maker`` is whose tables are used as they are, beside our own: a table that merely
    has a workload's name and columns may be somebody's data.
    ``scale_name`` is the parameter that says how much data there is. ``measures`` are queries of
    one number each. ``laws`` hold over their changes in a run of this workload alone;
    ``balances`` hold from loading on, whichever of the family has run. ``variables`` are what
    the scripts' variables begin with, given the values and the number of clients.
    """

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    data: str
    tables: Callable[[Values], tuple[Table, ...]]
    scripts: Callable[[Values, str], list[Script]]
    measures: Callable[[Values], Mapping[str, str]]
    laws: Callable[[Values], tuple[Law, ...]]
    balances: tuple[Law, ...]
    variables: Callable[[Values, int], dict[str, Scalar]] = scale_alone
    scale_name: str = "scale"
    other_maker: OtherMaker | None = None

    def read(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """The parameters that were given, checked; the others keep their defaults."""
        return read_all(self.parameters, given)

    def complete(self, read: Mapping[str, Value]) -> dict[str, Value]:
        """A value for every parameter."""
        return with_defaults(self.parameters, read)

    def snapshot(self, target: Target, connection: Connection, values: Values) -> Snapshot:
        """What the laws of a run are about, as it is now."""
        return self._read_measures(target, connection, values, self.laws(values))

    def _read_measures(
        self, target: Target, connection: Connection, values: Values, laws: tuple[Law, ...]
    ) -> Snapshot:
        """All of one instant, and no other: a measure may read a whole table."""
        needed = {name for law in laws for name in law.about()}
        with target.one_instant(connection):
            return {
                name: int(connection.execute(query).fetchone()[0])
                for name, query in self.measures(values).items()
                if name in needed
            }

    def verify(
        self,
        values: Values,
        before: Snapshot,
        after: Snapshot,
        committed: Mapping[str, Committed],
    ) -> list[Violation]:
        """What a run broke. ``committed`` is by script name."""
        return verify(self.laws(values), before, after, committed)

    def check(self, target: Target, connection: Connection, values: Values) -> list[Violation]:
        """What is wrong with the data as it stands, against data just loaded."""
        now = self._read_measures(target, connection, values, self.balances)
        loaded = dict.fromkeys(now, 0) | self.loaded_counts(values)
        return verify(self.balances, loaded, now, {})

    def loaded_counts(self, values: Values) -> Snapshot:
        """The rows of each table as loaded, under the name of its measure."""
        counts = {f"rows of {table.name}": table.rows for table in self.tables(values)}
        measured = self.measures(values)
        return {name: rows for name, rows in counts.items() if name in measured}
