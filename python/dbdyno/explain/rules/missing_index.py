"""Missing index: a lookup by key that reads the whole table.

Looks for: sequential scans of large tables by statements that compare columns with values, where no
index begins with one of those columns. Also, where the server plans to read the whole table for it,
a function of a column, as in lower(email) = …, a column that has an index but is compared in
another type or collation, which an index does not contain, and a table behind a view; on PostgreSQL
a pattern (LIKE), a join that finds few rows, and the first few rows by a column (ORDER BY … LIMIT).
The index to create has all columns that must be equal together, then the one that orders, and
columns joined by OR get one each. If there is none of these, on PostgreSQL: a table that no
statement of the scripts reads, but the check of a foreign key, a trigger or a function does.

Arithmetic: rows read by sequential scans over the number of scans is what each lookup reads; a
B-tree reads about one page per level. A scan that parallel workers share is counted by each of
them: if more than one was counted for each execution of a statement planned that way, the
executions are the scans. The client time of the statements, waits for parallel workers included, is
taken as that of the scans; the rows they need are a small part of it. Where PostgreSQL expects more
than a tenth of the rows to qualify, an index hardly helps, and nothing is reported, unless the
statement returned or changed so few that this estimate was wrong: a returned row takes at least 7
bytes. Scans that no statement explains get the part of the server's time that their rows have, with
a thousand rows for each statement.

MariaDB and MySQL count the rows read in order over all tables together (Handler_read_rnd_next,
Handler_read_next); there the plan of a statement shows which table they belong to, and each of its
executions is a scan. It does not show what a trigger or a function reads, nor by which columns a
view is searched whose rows are computed first (GROUP BY, UNION). Foreign keys always have an index
there.

Source: PostgreSQL manual, pg_stat_user_tables (seq_scan, seq_tup_read) and EXPLAIN; MySQL manual,
server status variables and EXPLAIN output format.

Wrong when: the statement really needs a large part of the table; a report's scan is not a lookup,
and an index would make it slower.
"""

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from dbdyno.analysis.protocol import MYSQL
from dbdyno.explain.case import Case
from dbdyno.explain.hidden_scans import hidden_scan
from dbdyno.explain.needs import committed, grown, known_objects, server_facts
from dbdyno.explain.row_estimates import expected_rows, is_misjudged
from dbdyno.explain.rows_found import rows_found_at_most
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import amount, gain_text
from dbdyno.explain.statements import (
    Statement,
    reads_all,
    statements_on,
    time_share,
    times_run,
    waiting_for_workers,
    working_share,
)
from dbdyno.explain.unindexed_lookups import Lookup, lookups, lookups_of_few
from dbdyno.formatting import count, percent, significant
from dbdyno.model.record import Finding
from dbdyno.model.telemetry import TableFacts

ROWS_MIN = 1000
"""Below this a sequential scan is as good as an index."""
SCANS_MIN = 0.01
_SOURCE = "pg_stat_user_tables"
_STATUS = "global_status"


class _Scanned(Struct, frozen=True):
    """A table, its sequential scans per transaction, and the rows that each read.

    If the server does not count scans, they are the executions of statements planned that way.
    """

    table: TableFacts
    scans: float
    rows: float
    are_scans_counted: bool = True

    @property
    def text(self) -> str:
        """What was counted."""
        name, rows = self.table.name, count(self.rows)
        if self.are_scans_counted:
            return (
                f"Sequential scans of {name}: {significant(self.scans)} per transaction, {rows} "
                "rows each."
            )
        return (
            f"Rows read in order, of all tables together: {rows} for each of "
            f"{significant(self.scans)} executions per transaction; by the server's estimate "
            f"{name} has {count(self.table.rows)}."
        )


class _Blamed(Struct, frozen=True):
    """A lookup with the scans of its table."""

    scanned: _Scanned
    lookup: Lookup

    @property
    def statement(self) -> Statement:
        """The statement of the lookup."""
        return self.lookup.statement

    @property
    def reads(self) -> str:
        """What it reads, and why."""
        return (
            f"“{self.statement.text}” reads {count(self.scanned.rows)} rows of "
            f"{self.scanned.table.name} to find those {self.lookup.wanted}: {self.lookup.lack}."
        )


def look(case: Case) -> Outcome:
    """Report the lookup in the table from which sequential scans read most rows, and others."""
    return _by_plan(case) if case.protocol == MYSQL else _by_table(case)


def _by_plan(case: Case) -> Outcome:
    """If the server counts rows read in order for all tables together, plans show the table."""
    read = grown(case, _STATUS, "Handler_read_rnd_next") + grown(case, _STATUS, "Handler_read_next")
    per_transaction = read / committed(case)
    for table in sorted(server_facts(case).tables, key=lambda table: table.rows, reverse=True):
        planned = [one for one in lookups(case, table) if one.is_planned]
        if planned and per_transaction >= ROWS_MIN and table.rows >= ROWS_MIN:
            ran = sum(
                times_run(case, number) for number in {one.statement.number for one in planned}
            )
            scans = (ran or committed(case)) / committed(case)
            scanned = _Scanned(table, scans, per_transaction / scans, are_scans_counted=False)
            return _finding(case, _Blamed(scanned, planned[0]))
    return NotFound("no statement that looks for one value is planned to read a large table")


def _by_table(case: Case) -> Outcome:
    """If the server counts the scans of each table."""
    known = set(known_objects(case, _SOURCE))
    tables = [table for table in server_facts(case).tables if table.name in known]
    scanned = [one for table in tables if (one := _scanned(case, table)).scans >= SCANS_MIN]
    large = sorted(scanned, key=lambda one: one.scans * one.rows, reverse=True)
    blamed = [
        _Blamed(one, lookup)
        for one in large
        if one.rows >= ROWS_MIN
        for lookup in _planned_first(lookups_of_few(case, one.table))
    ]
    if not blamed:
        nothing = NotFound("no large table was scanned by a statement that looks for one value")
        return hidden_scan(case, ROWS_MIN, SCANS_MIN) or nothing
    return _finding(case, blamed[0], _others(case, blamed))


def _planned_first(suspects: Iterable[Lookup]) -> list[Lookup]:
    return sorted(suspects, key=lambda one: one.is_planned, reverse=True)


def _others(case: Case, blamed: list[_Blamed]) -> list[_Blamed]:
    """Further statements with such plans that take a part of the time, each once."""
    names = {blamed[0].statement.number}
    others = []
    for one in blamed:
        number = one.statement.number
        is_sure = one.lookup.is_planned and (_share(case, one.statement) or 0.0) >= NOTICED
        if is_sure and number not in names:
            names.add(number)
            others.append(one)
    return others


def _scanned(case: Case, table: TableFacts) -> _Scanned:
    counted = grown(case, _SOURCE, "seq_scan", table.name)
    ran = sum(
        times_run(case, one.number)
        for one in statements_on(case, table)
        if reads_all(case, one.number, table.name)
    )
    scans = ran if ran and round(counted / ran) > 1 else counted
    read = grown(case, _SOURCE, "seq_tup_read", table.name)
    return _Scanned(table, scans / committed(case), read / max(scans, 1.0))


def _share(case: Case, statement: Statement) -> float | None:
    working = working_share(case, statement.number)
    if not working:
        return time_share(case, statement.number)
    return working + waiting_for_workers(case, statement.number)


def _finding(case: Case, worst: _Blamed, others: Sequence[_Blamed] = ()) -> Finding:
    scanned, lookup = worst.scanned, worst.lookup
    table, blamed = scanned.table.name, [worst, *others]
    shares = [_share(case, one.statement) for one in blamed]
    known = [share for share in shares if share is not None]
    share = sum(known) if known else None
    planned = [f"The server plans a sequential scan of {table} for it."]
    takes = "These statements take" if others else "The statement takes"
    return found(
        f"{worst.reads}{_too(len(others))}",
        title=lookup.title,
        share=share,
        share_of="client time" if share is not None else "",
        certainty="sure" if lookup.is_planned else "likely",
        evidence={
            "table": table,
            "column": ", ".join(lookup.columns),
            "statement": lookup.statement.sql,
            "rows_per_scan": scanned.rows,
            "scans_per_transaction": scanned.scans,
            "others": [one.statement.sql for one in others],
        },
        seen=[
            scanned.text,
            *(planned if lookup.is_planned else []),
            *_estimate_text(case, worst),
            *(f"Likewise {one.reads}" for one in others),
        ],
        why=f"{takes} {percent(share or 0.0)} of client time, and more with every row that is "
        "added.",
        advice=list(dict.fromkeys(line for one in blamed for line in one.lookup.advice)),
        gain=gain_text(case, share) if share is not None else "",
        refute=f"Run again with {_remedied(blamed)}: the number of rows read by sequential "
        "scans must fall to zero.",
    )


def _estimate_text(case: Case, one: _Blamed) -> list[str]:
    """What was measured, if the server expects far more rows than that."""
    table, statement = one.scanned.table, one.statement
    if not is_misjudged(case, statement, table):
        return []
    most = math.ceil(rows_found_at_most(case, statement, table) or 0.0)
    return [
        f"By what it returned or changed, it finds {count(most)} rows on average or fewer; the "
        f"server expects {count(expected_rows(case, statement, table))}."
    ]


def _remedied(blamed: Sequence[_Blamed]) -> str:
    if any(one.lookup.changes_statement for one in blamed):
        return "these statements changed" if len(blamed) > 1 else "that statement changed"
    return "these indexes" if len(blamed) > 1 else "that index"


def _too(others: int) -> str:
    more = amount(others, "other statement lacks one too", "other statements lack one too")
    return f" {more}." if others else ""


RULE = Rule(
    id="missing_index",
    title="Missing index: a lookup reads the whole table",
    look=look,
    covers=frozenset({"cpu_server", "data_read", "parallel_workers", "plan_choice"}),
    accounts_for=frozenset({"cpu", "cpu_queue", "io", "lwlock", "other_wait"}),
)
