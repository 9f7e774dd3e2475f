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

from msgspec import Struct

from dbdyno.analysis.protocol import POSTGRESQL
from dbdyno.explain.case import Case
from dbdyno.explain.growth import Course, course, time_to_double_s
from dbdyno.explain.needs import grown, known_objects, levels, server_facts
from dbdyno.explain.rule import NotFound, Outcome, Rule, found
from dbdyno.explain.statements import table_of
from dbdyno.formatting import seconds, size
from dbdyno.model.record import Finding

GROWN = 0.05
BYTES_MIN = 1 << 20
BLOATED = 0.2
_TABLES = "pg_stat_user_tables"


class _Grown(Struct, frozen=True):
    """A relation that grew, and the part of it that new rows explain."""

    name: str
    course: Course
    of_rows: float

    @property
    def bloat(self) -> float:
        """Bytes that no new row explains."""
        return max(self.course.last - self.course.first - self.of_rows, 0.0)


def look(case: Case) -> Outcome:
    """Report the relation with most bytes that rows do not explain."""
    relations = [name for name in known_objects(case, "sizes") if name]
    measured = [one for name in relations if (one := _grown(case, name))]
    grown_ones = [one for one in measured if _is_growth(one.course)]
    worst = max(grown_ones, key=lambda one: one.bloat, default=None)
    if worst is None or worst.bloat < BYTES_MIN:
        return NotFound("no relation grew by more than its new rows")
    return _finding(worst, [one for one in grown_ones if one is not worst])


def _is_growth(of: Course) -> bool:
    return of.last - of.first >= BYTES_MIN and of.relative >= GROWN


def _grown(case: Case, name: str) -> _Grown | None:
    of_rows = _of_rows(case, name)
    if of_rows is None:
        return None
    return _Grown(name, course(levels(case, "sizes", "bytes", name)), of_rows)


def _of_rows(case: Case, name: str) -> float | None:
    """Bytes of the table's new rows; an index gets as much as its share of the table.

    None if rows were added and their width is not known.
    """
    is_table = name in known_objects(case, _TABLES)
    table = name if is_table else name.rpartition(".")[0] or name
    inserted, deleted = (grown(case, _TABLES, of, table) for of in ("n_tup_ins", "n_tup_del"))
    added = max(inserted - deleted, 0.0)
    facts = table_of(server_facts(case), table)
    if facts is None or not facts.rows:
        return None if added else 0.0
    size_now = {facts.name: facts.bytes} | {index.name: index.bytes for index in facts.indexes}
    return added * size_now.get(name, 0) / facts.rows


def _finding(worst: _Grown, others: list[_Grown]) -> Finding:
    of = worst.course
    double = time_to_double_s(of.last, of.per_s)
    is_bloat = worst.bloat >= BLOATED * of.first
    return found(
        f"{worst.name} grew from {size(of.first)} to {size(of.last)} in {seconds(of.seconds)}, "
        f"{size(worst.bloat)} of which new rows do not explain.",
        severity="minor" if is_bloat and worst.bloat >= 16 * BYTES_MIN else "note",
        certainty="likely",
        evidence={
            "relation": worst.name,
            "bytes_before": of.first,
            "bytes_after": of.last,
            "bytes_of_new_rows": worst.of_rows,
            "time_to_double_s": double,
        },
        seen=[_course_text(one) for one in [worst, *others[:3]]],
        why="Dead row versions spread the live rows over more pages: fewer of them are cached, "
        "scans and vacuum take longer.",
        advice=[
            f"Let autovacuum process {worst.name} sooner (autovacuum_vacuum_scale_factor) and "
            "faster (autovacuum_vacuum_cost_limit).",
            "Run longer before you compare: a size that still grows is not the steady state.",
        ],
        gain=f"At this rate it doubles in {seconds(double)}." if double else "",
        refute="Run three times as long: a table that merely fills its free space stops growing.",
    )


def _course_text(one: _Grown) -> str:
    return (
        f"{one.name}: {size(one.course.first)} at the start, {size(one.course.last)} at the end, "
        f"new rows {size(one.of_rows)}."
    )


RULE = Rule(
    id="table_growth", title="Table and index growth", look=look, protocols=frozenset({POSTGRESQL})
)
