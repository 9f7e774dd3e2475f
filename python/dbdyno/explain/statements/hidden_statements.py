"""Scans of tables, and changes of their rows, by statements that the scripts do not contain.

The check of a foreign key, a trigger or a function runs statements of its own, whose text and plans
are not known; only the server's counters show what they read.
"""

from msgspec import Struct

from dbdyno.analysis.costs.costs import cost, costs
from dbdyno.analysis.series.readings import was_read
from dbdyno.analysis.waits.budget import known_budget
from dbdyno.explain.needs import (
    committed,
    grown,
    growth_if_reported,
    known_objects,
    server_facts,
)
from dbdyno.explain.rule import NOTICED
from dbdyno.explain.statements.sql import fits
from dbdyno.explain.statements.statements import statements_of
from dbdyno.model.counters import GlobalStatus, PgUserTables
from dbdyno.model.run import Run

_STEPS = (
    PgUserTables.seq_scan,
    PgUserTables.idx_scan,
    PgUserTables.n_tup_ins,
    PgUserTables.n_tup_upd,
    PgUserTables.n_tup_del,
)


class HiddenScan(Struct, frozen=True):
    """A table, how often a transaction has it scanned, and the rows that each scan reads."""

    table: str
    scans: float
    rows: float

    @property
    def rows_read(self) -> float:
        """Rows per transaction."""
        return self.scans * self.rows


def hidden_scan(run: Run, rows_min: int, scans_min: float) -> tuple[HiddenScan, float] | None:
    """The table from which such scans read most rows, and their share if they take a part of time.

    Server time is divided by rows: a statement is taken to cost as much as a scan of ``rows_min``.
    """
    scanned = [
        one
        for one in (_scan_of(run, name) for name in _not_used_openly(run))
        if one.rows >= rows_min and one.scans >= scans_min
    ]
    spent = known_budget(run)
    if not scanned or spent is None:
        return None
    worst = max(scanned, key=lambda one: one.rows_read)
    work = sum(spent.share(kind) for kind in ("cpu", "cpu_queue", "io"))
    statements = max(cost(costs(run), "round_trips") or 1.0, 1.0)
    share = work * worst.rows_read / (worst.rows_read + rows_min * statements)
    return (worst, share) if share >= NOTICED else None


def _not_used_openly(run: Run) -> list[str]:
    """Tables that no statement of the scripts names, and no known plan reads."""
    facts = server_facts(run)
    used = {table.name for table in facts.tables}
    used |= {relation for plan in facts.plans for _, relation, _ in plan.nodes}
    written = {name for statement in statements_of(run) for name in statement.sql.tables}
    return [
        name
        for name in known_objects(run, PgUserTables.source)
        if name not in used and not any(fits(one, name) for one in written)
    ]


def statements_within(run: Run) -> float:
    """The part of all statements that no client sent: triggers and procedures ran them.

    0 where a server does not count both.
    """
    if not was_read(run, GlobalStatus.source):
        return 0.0
    every = growth_if_reported(run, GlobalStatus.Queries)
    sent = growth_if_reported(run, GlobalStatus.Questions)
    return max(1.0 - sent / every, 0.0) if every and sent is not None else 0.0


def hidden_part(run: Run) -> float:
    """The part of all scans and row changes that is in tables which the scripts do not name.

    0 where a server does not count them by table.
    """
    if not was_read(run, PgUserTables.source):
        return 0.0
    hidden = sum(_steps_on(run, table) for table in _not_used_openly(run))
    every = sum(_steps_on(run, table) for table in known_objects(run, PgUserTables.source))
    return hidden / max(every, 1.0)


def _steps_on(run: Run, table: str) -> float:
    counted = (growth_if_reported(run, counter, table) for counter in _STEPS)
    return sum(filter(None, counted))


def _scan_of(run: Run, table: str) -> HiddenScan:
    scans = grown(run, PgUserTables.seq_scan, table)
    rows = grown(run, PgUserTables.seq_tup_read, table)
    return HiddenScan(table, scans / committed(run), rows / max(scans, 1.0))
