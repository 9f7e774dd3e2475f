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
from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct

from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.needs import committed, grown, known_objects, server_facts
from dbdyno.explain.rule import NOTICED, Aside, NotFound, Rule
from dbdyno.explain.sentences import amount
from dbdyno.explain.statements.hidden_statements import hidden_scan
from dbdyno.explain.statements.rows_found import expected_rows, is_misjudged, rows_found_at_most
from dbdyno.explain.statements.statements import (
    Statement,
    reads_all,
    statements_on,
    time_share,
    times_run,
    waiting_for_workers,
    working_share,
)
from dbdyno.explain.statements.unindexed_lookups import Lookup, lookups, lookups_of_few
from dbdyno.formatting import count, percent, significant
from dbdyno.model.counters import GlobalStatus, PgUserTables
from dbdyno.model.record import Certainty
from dbdyno.model.run import Run
from dbdyno.model.telemetry import TableFacts

ROWS_MIN = 1000
"""Below this a sequential scan is as good as an index."""
SCANS_MIN = 0.01


class Blamed(Struct, frozen=True):
    """A lookup with the scans of its table."""

    table: str
    rows: float
    """That each scan reads."""
    lookup: Lookup

    @property
    def reads(self) -> str:
        """What it reads, and why."""
        return (
            f"“{self.lookup.statement.text}” reads {count(self.rows)} rows of {self.table} to find "
            f"those {self.lookup.wanted}: {self.lookup.lack}."
        )


class MissingIndex(LimitClaim, frozen=True, kw_only=True):
    """The lookup in the table from which sequential scans read most rows, and others."""

    table: str
    column: str
    statement: str
    rows_per_scan: float
    scans_per_transaction: float
    """If the server does not count scans, executions of the statements planned that way."""
    others: list[str]
    """Further statements that lack an index and take a part of the time."""
    blamed: Aside[list[Blamed]]
    """All of these lookups, the worst first."""
    table_rows: Aside[float | None] = None
    """The table's rows by the server's estimate; None if it counts the scans of each table."""
    found_at_most: Aside[int] = 0
    """Rows that an execution finds on average, if the server expects far more, namely:"""
    expected: Aside[float | None] = None

    @property
    def title(self) -> str:
        return self.blamed[0].lookup.title

    @property
    def certainty(self) -> Certainty:
        return "sure" if self.blamed[0].lookup.is_planned else "likely"

    @property
    def summary(self) -> str:
        number = len(self.others)
        more = amount(number, "other statement lacks one too", "other statements lack one too")
        return f"{self.blamed[0].reads}{f' {more}.' if number else ''}"

    @property
    def seen(self) -> list[str]:
        rows, scans = count(self.rows_per_scan), significant(self.scans_per_transaction)
        if self.table_rows is None:
            lines = [
                f"Sequential scans of {self.table}: {scans} per transaction, {rows} rows each."
            ]
        else:
            lines = [
                f"Rows read in order, of all tables together: {rows} for each of {scans} "
                f"executions per transaction; by the server's estimate {self.table} has "
                f"{count(self.table_rows)}."
            ]
        if self.blamed[0].lookup.is_planned:
            lines.append(f"The server plans a sequential scan of {self.table} for it.")
        if self.expected is not None:
            lines.append(
                f"By what it returned or changed, it finds {count(self.found_at_most)} rows on "
                f"average or fewer; the server expects {count(self.expected)}."
            )
        return [*lines, *(f"Likewise {one.reads}" for one in self.blamed[1:])]

    @property
    def why(self) -> str:
        takes = "These statements take" if self.others else "The statement takes"
        return (
            f"{takes} {percent(self.share or 0.0)} of client time, and more with every row that is "
            "added."
        )

    @property
    def advice(self) -> list[str]:
        return list(dict.fromkeys(line for one in self.blamed for line in one.lookup.advice))

    @property
    def gain(self) -> str:
        return "" if self.share is None else self.gains.text(self.share)

    @property
    def refute(self) -> str:
        remedied = "these indexes" if self.others else "that index"
        if any(one.lookup.changes_statement for one in self.blamed):
            remedied = "these statements changed" if self.others else "that statement changed"
        return (
            f"Run again with {remedied}: the number of rows read by sequential scans must fall to "
            "zero."
        )


class HiddenLookup(LimitClaim, frozen=True, kw_only=True):
    """A table that no statement of the scripts reads is scanned."""

    table: str
    rows_per_scan: float
    scans_per_transaction: float
    title: ClassVar[str] = "Missing index: a foreign key, trigger or function reads a whole table"

    @property
    def summary(self) -> str:
        return (
            f"No statement of the scripts reads {self.table}, yet all of its "
            f"{count(self.rows_per_scan)} rows are read, on average "
            f"{significant(self.scans_per_transaction)} times per transaction: most likely by the "
            "check of a foreign key, a trigger or a function."
        )

    @property
    def seen(self) -> list[str]:
        return [
            f"Sequential scans of {self.table}: {significant(self.scans_per_transaction)} per "
            f"transaction, {count(self.rows_per_scan)} rows each."
        ]

    @property
    def why(self) -> str:
        return (
            f"These scans take about {percent(self.share or 0.0)} of client time, by the rows that "
            "they read, and more with every row that is added."
        )

    @property
    def advice(self) -> list[str]:
        return [
            f"If {self.table} references a table from which the scripts delete, or whose key they "
            "change: create an index on the referencing columns.",
            "Otherwise find the statement in the triggers and functions (auto_explain with "
            "log_nested_statements shows its plan), and index the columns that it compares.",
        ]

    refute: ClassVar[str] = (
        "Run again with that index: the number of rows read by sequential scans must fall to zero."
    )
    wrong_when: ClassVar[str] = (
        "A session outside the load scans the table, or the function needs a large part of it."
    )


class _Scanned(Struct, frozen=True):
    """A table, its sequential scans per transaction, and the rows that each read."""

    table: TableFacts
    scans: float
    rows: float

    def with_lookup(self, lookup: Lookup) -> Blamed:
        """The lookup to blame for them."""
        return Blamed(self.table.name, self.rows, lookup)


def look(run: Run) -> MissingIndex | HiddenLookup | NotFound:
    """Report the lookup in the table from which sequential scans read most rows, and others."""
    return _by_plan(run) if run.database.has("innodb") else _by_table(run)


def _by_plan(run: Run) -> MissingIndex | NotFound:
    """If the server counts rows read in order for all tables together, plans show the table."""
    in_order = grown(run, GlobalStatus.Handler_read_next)
    read = grown(run, GlobalStatus.Handler_read_rnd_next) + in_order
    per_transaction = read / committed(run)
    for table in sorted(server_facts(run).tables, key=lambda table: table.rows, reverse=True):
        planned = [one for one in lookups(run, table) if one.is_planned]
        if planned and per_transaction >= ROWS_MIN and table.rows >= ROWS_MIN:
            ran = sum(
                times_run(run, number) for number in {one.statement.number for one in planned}
            )
            scans = (ran or committed(run)) / committed(run)
            scanned = _Scanned(table, scans, per_transaction / scans)
            blamed = [scanned.with_lookup(planned[0])]
            return _missing(run, scanned, blamed, table_rows=table.rows)
    return NotFound("no statement that looks for one value is planned to read a large table")


def _by_table(run: Run) -> MissingIndex | HiddenLookup | NotFound:
    """If the server counts the scans of each table."""
    known = set(known_objects(run, PgUserTables.source))
    tables = [table for table in server_facts(run).tables if table.name in known]
    scanned = [one for table in tables if (one := _scanned(run, table)).scans >= SCANS_MIN]
    large = sorted(scanned, key=lambda one: one.scans * one.rows, reverse=True)
    blamed = [
        (one, one.with_lookup(lookup))
        for one in large
        if one.rows >= ROWS_MIN
        for lookup in _planned_first(lookups_of_few(run, one.table))
    ]
    if blamed:
        return _missing(run, blamed[0][0], _with_others(run, [one for _, one in blamed]))
    hidden = hidden_scan(run, ROWS_MIN, SCANS_MIN)
    if hidden is None:
        return NotFound("no large table was scanned by a statement that looks for one value")
    scan, share = hidden
    return HiddenLookup(
        share=share,
        table=scan.table,
        rows_per_scan=scan.rows,
        scans_per_transaction=scan.scans,
        gains=gains_in(run),
    )


def _planned_first(suspects: Iterable[Lookup]) -> list[Lookup]:
    return sorted(suspects, key=lambda one: one.is_planned, reverse=True)


def _with_others(run: Run, blamed: list[Blamed]) -> list[Blamed]:
    """The worst, and further statements with such plans that take a part of the time, each once."""
    names = {blamed[0].lookup.statement.number}
    some = [blamed[0]]
    for one in blamed:
        number = one.lookup.statement.number
        is_sure = one.lookup.is_planned and (_share(run, one.lookup.statement) or 0.0) >= NOTICED
        if is_sure and number not in names:
            names.add(number)
            some.append(one)
    return some


def _scanned(run: Run, table: TableFacts) -> _Scanned:
    counted = grown(run, PgUserTables.seq_scan, table.name)
    ran = sum(
        times_run(run, one.number)
        for one in statements_on(run, table)
        if reads_all(run, one.number, table.name)
    )
    scans = ran if ran and round(counted / ran) > 1 else counted
    read = grown(run, PgUserTables.seq_tup_read, table.name)
    return _Scanned(table, scans / committed(run), read / max(scans, 1.0))


def _share(run: Run, statement: Statement) -> float | None:
    working = working_share(run, statement.number)
    if not working:
        return time_share(run, statement.number)
    return working + waiting_for_workers(run, statement.number)


def _missing(
    run: Run, scanned: _Scanned, blamed: list[Blamed], table_rows: float | None = None
) -> MissingIndex:
    table, lookup = scanned.table, blamed[0].lookup
    shares = [_share(run, one.lookup.statement) for one in blamed]
    known = [share for share in shares if share is not None]
    is_misjudging = is_misjudged(run, lookup.statement, table)
    return MissingIndex(
        share=sum(known) if known else None,
        table=table.name,
        column=", ".join(lookup.columns),
        statement=lookup.statement.sql.text,
        rows_per_scan=scanned.rows,
        scans_per_transaction=scanned.scans,
        others=[one.lookup.statement.sql.text for one in blamed[1:]],
        blamed=blamed,
        table_rows=table_rows,
        found_at_most=math.ceil(rows_found_at_most(run, lookup.statement, table) or 0.0),
        expected=expected_rows(run, lookup.statement, table) if is_misjudging else None,
        gains=gains_in(run),
    )


RULE = Rule(
    id="missing_index",
    title="Missing index: a lookup reads the whole table",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue", "io", "lwlock", "other_wait"}),
)
