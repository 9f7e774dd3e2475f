"""Scans of whole tables by statements that the scripts do not contain.

The check of a foreign key, a trigger or a function runs statements of its own, whose text and plans
are not known; only the server's counters show what they read.
"""

from msgspec import Struct

from dbdyno.analysis.costs import cost
from dbdyno.explain.case import Case
from dbdyno.explain.needs import committed, grown, known_objects, server_facts
from dbdyno.explain.rule import NOTICED, found
from dbdyno.explain.sentences import gain_text
from dbdyno.explain.sql import fits, tables_of
from dbdyno.explain.statements import statements_of
from dbdyno.formatting import count, percent, significant
from dbdyno.model.record import Finding

_SOURCE = "pg_stat_user_tables"


class _HiddenScan(Struct, frozen=True):
    """A table, how often a transaction has it scanned, and the rows that each scan reads."""

    table: str
    scans: float
    rows: float

    @property
    def rows_read(self) -> float:
        """Rows per transaction."""
        return self.scans * self.rows


def hidden_scan(case: Case, rows_min: int, scans_min: float) -> Finding | None:
    """Report the table from which such scans read most rows, if they take a part of the time.

    Server time is divided by rows: a statement is taken to cost as much as a scan of ``rows_min``.
    """
    scanned = [
        one
        for one in (_scan_of(case, name) for name in _not_used_openly(case))
        if one.rows >= rows_min and one.scans >= scans_min
    ]
    if not scanned or case.budget is None:
        return None
    worst = max(scanned, key=lambda one: one.rows_read)
    work = sum(case.budget.share(kind) for kind in ("cpu", "cpu_queue", "io"))
    statements = max(cost(case.costs, "round_trips") or 1.0, 1.0)
    share = work * worst.rows_read / (worst.rows_read + rows_min * statements)
    return _finding(case, worst, share) if share >= NOTICED else None


def _not_used_openly(case: Case) -> list[str]:
    """Tables that no statement of the scripts names, and no known plan reads."""
    facts = server_facts(case)
    used = {table.name for table in facts.tables}
    used |= {relation for plan in facts.plans for _, relation, _ in plan.nodes}
    written = {name for statement in statements_of(case) for name in tables_of(statement.sql)}
    return [
        name
        for name in known_objects(case, _SOURCE)
        if name not in used and not any(fits(one, name) for one in written)
    ]


def _scan_of(case: Case, table: str) -> _HiddenScan:
    scans = grown(case, _SOURCE, "seq_scan", table)
    rows = grown(case, _SOURCE, "seq_tup_read", table)
    return _HiddenScan(table, scans / committed(case), rows / max(scans, 1.0))


def _finding(case: Case, worst: _HiddenScan, share: float) -> Finding:
    table = worst.table
    return found(
        f"No statement of the scripts reads {table}, yet all of its {count(worst.rows)} rows are "
        f"read, on average {significant(worst.scans)} times per transaction: most likely by the "
        "check of a foreign key, a trigger or a function.",
        title="Missing index: a foreign key, trigger or function reads a whole table",
        share=share,
        share_of="client time",
        certainty="likely",
        evidence={
            "table": table,
            "rows_per_scan": worst.rows,
            "scans_per_transaction": worst.scans,
        },
        seen=[
            f"Sequential scans of {table}: {significant(worst.scans)} per transaction, "
            f"{count(worst.rows)} rows each."
        ],
        why=f"These scans take about {percent(share)} of client time, by the rows that they read, "
        "and more with every row that is added.",
        advice=[
            f"If {table} references a table from which the scripts delete, or whose key they "
            "change: create an index on the referencing columns.",
            "Otherwise find the statement in the triggers and functions (auto_explain with "
            "log_nested_statements shows its plan), and index the columns that it compares.",
        ],
        gain=gain_text(case, share),
        refute="Run again with that index: the number of rows read by sequential scans must fall "
        "to zero.",
        wrong_when="A session outside the load scans the table, or the function needs a large part "
        "of it.",
    )
