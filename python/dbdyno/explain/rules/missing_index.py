"""Missing index: a lookup by key that reads the whole table.

Looks for: sequential scans of large tables by statements that compare columns with values, where no
index begins with one of those columns; on PostgreSQL also a function of a column, as in
lower(email) = …, where the server plans to read the whole table for it. The index to create has all
columns that must be equal together, and columns joined by OR get one each.

Arithmetic: rows read by sequential scans over the number of scans is what each lookup reads; a
B-tree reads about one page per level. A scan that parallel workers share is counted by each of
them: scans are divided by how many were counted for each execution of a statement planned that way.
The client time of the statements is taken as that of the scans; the rows they need are a small part
of it.

MariaDB and MySQL count the rows read in order over all tables together (Handler_read_rnd_next,
Handler_read_next); there the plan of a statement shows which table they belong to.

Source: PostgreSQL manual, pg_stat_user_tables (seq_scan, seq_tup_read) and EXPLAIN; MySQL manual,
server status variables and EXPLAIN output format.

Wrong when: the statement really needs a large part of the table; a report's scan is not a lookup,
and an index would make it slower.
"""

from collections.abc import Sequence

from msgspec import Struct

from dbdyno.analysis.protocol import MYSQL
from dbdyno.explain.case import Case
from dbdyno.explain.databases import database_of
from dbdyno.explain.needs import committed, grown, known_objects, server_facts
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import amount, gain_words
from dbdyno.explain.sql import equal_calls, equal_columns, has_alternatives, the_one
from dbdyno.explain.statements import (
    Statement,
    reads_all,
    statements_on,
    time_share,
    times_run,
    working_share,
)
from dbdyno.formatting import count, percent, significant
from dbdyno.model.record import Finding
from dbdyno.model.telemetry import TableFacts

ROWS_MIN = 1000
"""Below this a sequential scan is as good as an index."""
SCANS_MIN = 0.01
_SOURCE = "pg_stat_user_tables"
_STATUS = "global_status"


class _Scanned(Struct, frozen=True):
    """A table, its sequential scans per transaction, and the rows that each read."""

    table: TableFacts
    scans: float
    rows: float


class _Lookup(Struct, frozen=True):
    """A statement that looks for values of columns, or of a function of one, without an index."""

    statement: Statement
    columns: list[str]
    is_any: bool
    """Whether a row qualifies by any of the columns (OR); otherwise by all of them."""
    is_planned: bool
    """Whether the server's plan for it is a sequential scan of the table."""


class _Blamed(Struct, frozen=True):
    """A lookup with the scans of its table."""

    scanned: _Scanned
    lookup: _Lookup

    @property
    def statement(self) -> Statement:
        """The statement of the lookup."""
        return self.lookup.statement

    @property
    def reads(self) -> str:
        """What it reads, and why."""
        table, columns = self.scanned.table.name, self.lookup.columns
        wanted = (" or " if self.lookup.is_any else " and ").join(columns)
        return (
            f"{self.statement.words} reads {count(self.scanned.rows)} rows of {table} to find "
            f"those with one value of {wanted}: no index begins with {' or '.join(columns)}."
        )

    @property
    def keys(self) -> list[str]:
        """The keys of the missing indexes."""
        columns = self.lookup.columns
        return columns if self.lookup.is_any else [", ".join(columns)]


def look(case: Case) -> Outcome:
    """Report the lookup in the table from which sequential scans read most rows, and others."""
    return _by_plan(case) if case.protocol == MYSQL else _by_table(case)


def _by_plan(case: Case) -> Outcome:
    """If the server counts rows read in order for all tables together, plans show the table."""
    read = grown(case, _STATUS, "Handler_read_rnd_next") + grown(case, _STATUS, "Handler_read_next")
    per_transaction = read / committed(case)
    for table in sorted(server_facts(case).tables, key=lambda table: table.rows, reverse=True):
        planned = [one for one in _lookups(case, table) if one.is_planned]
        if planned and per_transaction >= ROWS_MIN and table.rows >= ROWS_MIN:
            scans = per_transaction / table.rows
            return _finding(case, _Blamed(_Scanned(table, scans, table.rows), planned[0]))
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
        for lookup in _suspects(case, one.table)
    ]
    if not blamed:
        return NotFound("no large table was scanned by a statement that looks for one value")
    return _finding(case, blamed[0], _others(case, blamed))


def _suspects(case: Case, table: TableFacts) -> list[_Lookup]:
    """Candidate lookups, those with a sequential scan in their plan first."""
    suspects = [*_lookups(case, table), *_computed(case, table)]
    return sorted(suspects, key=lambda one: one.is_planned, reverse=True)


def _others(case: Case, blamed: list[_Blamed]) -> list[_Blamed]:
    """Further statements with such plans that take a part of the time, each once."""
    told = {blamed[0].statement.number}
    others = []
    for one in blamed:
        number = one.statement.number
        is_sure = one.lookup.is_planned and (_share(case, one.statement) or 0.0) >= NOTICED
        if is_sure and number not in told:
            told.add(number)
            others.append(one)
    return others


def _scanned(case: Case, table: TableFacts) -> _Scanned:
    counted = grown(case, _SOURCE, "seq_scan", table.name)
    ran = sum(
        times_run(case, one.number)
        for one in statements_on(case, table)
        if reads_all(case, one.number, table.name)
    )
    scans = counted / max(round(counted / ran), 1) if ran else counted
    read = grown(case, _SOURCE, "seq_tup_read", table.name)
    return _Scanned(table, scans / committed(case), read / max(scans, 1.0))


def _lookups(case: Case, table: TableFacts) -> list[_Lookup]:
    """The statements that look for values of columns of which none is the first of an index."""
    leading = {index.columns[0] for index in table.indexes if index.columns}
    return [
        _Lookup(
            statement,
            columns,
            has_alternatives(statement.sql),
            reads_all(case, statement.number, table.name),
        )
        for statement in statements_on(case, table)
        if (columns := _columns(statement, table)) and not leading.intersection(columns)
    ]


def _computed(case: Case, table: TableFacts) -> list[_Lookup]:
    """If an index on the function served, the plan would not read the whole table."""
    return [
        _Lookup(statement, [f"{function}({column})"], is_any=False, is_planned=True)
        for statement in statements_on(case, table)
        if reads_all(case, statement.number, table.name)
        for function, name in equal_calls(statement.sql)
        if (column := the_one(name, table.columns))
    ]


def _columns(statement: Statement, table: TableFacts) -> list[str]:
    told = equal_columns(statement.sql)
    return [column for name in told if (column := the_one(name, table.columns))]


def _share(case: Case, statement: Statement) -> float | None:
    return working_share(case, statement.number) or time_share(case, statement.number)


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
            f"Sequential scans of {table}: {significant(scanned.scans)} per transaction, "
            f"{count(scanned.rows)} rows each.",
            *(planned if lookup.is_planned else []),
            *(f"Likewise {one.reads}" for one in others),
        ],
        why=f"{takes} {percent(share or 0.0)} of client time, and more with every row that is "
        "added.",
        advice=list(dict.fromkeys(line for one in blamed for line in _create_indexes(case, one))),
        gain=gain_words(case, share) if share is not None else "",
        refute=f"Run again with {'these indexes' if others else 'that index'}: the number of rows "
        "read by sequential scans must fall to zero.",
    )


def _too(others: int) -> str:
    more = amount(others, "other statement lacks one too", "other statements lack one too")
    return f" {more}." if others else ""


def _create_indexes(case: Case, one: _Blamed) -> list[str]:
    """For a partitioned table, on the whole table: each partition then gets one."""
    table = one.scanned.table
    if table.partition_of:
        return [f"CREATE INDEX ON {table.partition_of} ({key});" for key in one.keys]
    create = database_of(case).create_index
    return [
        create.format(table=table.name, key=key, name=key.replace(", ", "_")) for key in one.keys
    ]


RULE = Rule(
    id="missing_index",
    title="Missing index: a lookup reads the whole table",
    look=look,
    covers=frozenset({"cpu_server", "data_read", "plan_choice"}),
    accounts_for=frozenset({"cpu", "cpu_queue", "io", "lwlock"}),
)
