"""What a workload is: the shape of ``WORKLOAD``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from dbdyno.model.plan import Scalar, Script
from dbdyno.targets.connection import Connection
from dbdyno.targets.schema import Table
from dbdyno.workloads.invariants import Committed, Law, Snapshot, Violation, verify
from dbdyno.workloads.parameters import Parameter, Value, Values, read_all, with_defaults


class OtherMaker(Struct, frozen=True, kw_only=True):
    """Another tool that makes the same tables, and how to see at which scale."""

    name: str
    scale_query: str


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Schema, data, scripts, parameters and invariants under one name.

    ``data`` names the tables' family: workloads that share it run on each other's data.
    ``other_maker`` is whose tables are used as they are, beside our own: a table that merely
    has a workload's name and columns may be somebody's data.
    ``measures`` are queries of one number each. ``laws`` hold over their changes in a run of
    this workload alone; ``balances`` hold from loading on, whichever of the family has run.
    """

    name: str
    summary: str
    folder: Path
    parameters: tuple[Parameter, ...]
    data: str
    tables: Callable[[Values], tuple[Table, ...]]
    script_names: Callable[[Values], tuple[str, ...]]
    measures: Mapping[str, str]
    laws: Callable[[Values], tuple[Law, ...]]
    balances: tuple[Law, ...]
    other_maker: OtherMaker | None = None

    def read(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """The parameters that were given, checked; the others keep their defaults."""
        return read_all(self.parameters, given)

    def complete(self, read: Mapping[str, Value]) -> dict[str, Value]:
        """A value for every parameter."""
        return with_defaults(self.parameters, read)

    def scripts(self, values: Values) -> list[Script]:
        """What its clients run."""
        return [
            Script(name=name, text=(self.folder / f"{name}.sql").read_text(encoding="utf-8"))
            for name in self.script_names(values)
        ]

    def variables(self, values: Values) -> dict[str, Scalar]:
        """What the scripts' variables begin with."""
        return {"scale": values["scale"]}

    def snapshot(self, connection: Connection) -> Snapshot:
        """The measures now, all of one instant."""
        with connection.transaction():
            connection.execute("set transaction isolation level repeatable read, read only")
            return {
                name: int(connection.execute(query).fetchone()[0])
                for name, query in self.measures.items()
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

    def check(self, connection: Connection, values: Values) -> list[Violation]:
        """What is wrong with the data as it stands, against data just loaded."""
        now = self.snapshot(connection)
        loaded = dict.fromkeys(now, 0) | self.loaded_counts(values)
        return verify(self.balances, loaded, now, {})

    def loaded_counts(self, values: Values) -> Snapshot:
        """The rows of each table as loaded, under the name of its measure."""
        counts = {f"rows of {table.name}": table.rows for table in self.tables(values)}
        return {name: rows for name, rows in counts.items() if name in self.measures}
