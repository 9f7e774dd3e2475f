"""Growth: tables and indexes that grow faster than the number of their rows.

Looks for: relations that are larger at the end of the run than at its start, and whether inserted
rows explain it.

Arithmetic: growth per second, the space that the net of inserted and deleted rows would take at the
mean row width, and the rest, which is bloat: space taken by dead versions and by index entries that
were not freed. Time to double is the size over the growth. Where rows were added to a table whose
row count was not known, their width is not known either, and the table is not judged.

Source: PostgreSQL manual, routine vacuuming (recovering disk space).

Wrong when: the run is short compared with the time between vacuums. A table grows to a size at
which freed space is reused, and then stays there; only a long run shows that size.
"""

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct

from dbdyno.explain.needs import grown, known_objects, levels, server_facts
from dbdyno.explain.resources.growth import Course, course, time_to_double_s
from dbdyno.explain.rule import Aside, Claim, NotFound, Rule
from dbdyno.explain.statements.statements import table_of
from dbdyno.formatting import seconds, size
from dbdyno.model.counters import PgUserTables, Sizes
from dbdyno.model.record import Severity
from dbdyno.model.run import Run

GROWN = 0.05
BYTES_MIN = 1 << 20
BLOATED = 0.2


class Grown(Struct, frozen=True):
    """A relation that grew, and the part of it that new rows explain."""

    name: str
    course: Course
    of_rows: float

    @property
    def bloat(self) -> float:
        """Bytes that no new row explains."""
        return max(self.course.last - self.course.first - self.of_rows, 0.0)

    @property
    def text(self) -> str:
        """What was observed."""
        return (
            f"{self.name}: {size(self.course.first)} at the start, {size(self.course.last)} at the "
            f"end, new rows {size(self.of_rows)}."
        )


class TableGrowth(Claim, frozen=True, kw_only=True):
    """The relation with most bytes that rows do not explain, and others that grew."""

    relation: str
    bytes_before: float
    bytes_after: float
    bytes_of_new_rows: float
    time_to_double_s: float | None
    worst: Aside[Grown]
    others: Aside[Sequence[Grown]] = ()

    @property
    def severity(self) -> Severity:
        bloat = self.worst.bloat
        is_bloat = bloat >= BLOATED * self.bytes_before and bloat >= 16 * BYTES_MIN
        return "minor" if is_bloat else "note"

    @property
    def summary(self) -> str:
        return (
            f"{self.relation} grew from {size(self.bytes_before)} to {size(self.bytes_after)} in "
            f"{seconds(self.worst.course.seconds)}, {size(self.worst.bloat)} of which new rows do "
            "not explain."
        )

    @property
    def seen(self) -> list[str]:
        return [one.text for one in [self.worst, *self.others[:3]]]

    why: ClassVar[str] = (
        "Dead row versions spread the live rows over more pages: fewer of them are cached, scans "
        "and vacuum take longer."
    )

    @property
    def advice(self) -> list[str]:
        return [
            f"Let autovacuum process {self.relation} sooner (autovacuum_vacuum_scale_factor) and "
            "faster (autovacuum_vacuum_cost_limit).",
            "Run longer before you compare: a size that still grows is not the steady state.",
        ]

    @property
    def gain(self) -> str:
        double_s = self.time_to_double_s
        return f"At this rate it doubles in {seconds(double_s)}." if double_s else ""

    refute: ClassVar[str] = (
        "Run three times as long: a table that merely fills its free space stops growing."
    )


def look(run: Run) -> TableGrowth | NotFound:
    """Report the relation with most bytes that rows do not explain."""
    relations = [name for name in known_objects(run, Sizes.source) if name]
    measured = [
        Grown(name, course(levels(run, Sizes.bytes, name)), of_rows)
        for name in relations
        if (of_rows := _of_rows(run, name)) is not None
    ]
    grown_ones = [one for one in measured if _is_growth(one.course)]
    worst = max(grown_ones, key=lambda one: one.bloat, default=None)
    if worst is None or worst.bloat < BYTES_MIN:
        return NotFound("no relation grew by more than its new rows")
    of = worst.course
    return TableGrowth(
        relation=worst.name,
        bytes_before=of.first,
        bytes_after=of.last,
        bytes_of_new_rows=worst.of_rows,
        time_to_double_s=time_to_double_s(of.last, of.per_s),
        worst=worst,
        others=[one for one in grown_ones if one is not worst],
    )


def _is_growth(of: Course) -> bool:
    return of.last - of.first >= BYTES_MIN and of.relative >= GROWN


def _of_rows(run: Run, name: str) -> float | None:
    """Bytes of the table's new rows; an index gets as much as its share of the table.

    None if rows were added and their width is not known.
    """
    is_table = name in known_objects(run, PgUserTables.source)
    table = name if is_table else name.rpartition(".")[0] or name
    inserted, deleted = (
        grown(run, counter, table) for counter in (PgUserTables.n_tup_ins, PgUserTables.n_tup_del)
    )
    added = max(inserted - deleted, 0.0)
    facts = table_of(server_facts(run), table)
    if facts is None or not facts.rows:
        return None if added else 0.0
    size_now = {facts.name: facts.bytes} | {index.name: index.bytes for index in facts.indexes}
    return added * size_now.get(name, 0) / facts.rows


RULE = Rule(
    id="table_growth",
    title="Table and index growth",
    look=look,
    needs=frozenset({"statistics_views"}),
)
