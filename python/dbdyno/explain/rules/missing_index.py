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
Handler_read_next); there the plan of a statement shows which table they belong to. It does not
show what a trigger or a function reads, nor by which columns a view is searched whose rows are
computed first (GROUP BY, UNION). Foreign keys always have an index there.

Source: PostgreSQL manual, pg_stat_user_tables (seq_scan, seq_tup_read) and EXPLAIN; MySQL manual,
server status variables and EXPLAIN output format.

Wrong when: the statement really needs a large part of the table; a report's scan is not a lookup,
and an index would make it slower.
"""

import math
from collections.abc import Sequence, Set

from msgspec import Struct

from dbdyno.analysis.protocol import MYSQL
from dbdyno.explain.case import Case
from dbdyno.explain.databases import database_of
from dbdyno.explain.hidden_scans import hidden_scan
from dbdyno.explain.needs import committed, grown, known_objects, server_facts
from dbdyno.explain.rows_found import rows_found_at_most
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import amount, gain_text
from dbdyno.explain.sql import (
    equal_calls,
    equal_columns,
    first_by,
    has_alternatives,
    joined_columns,
    like_columns,
    the_one,
)
from dbdyno.explain.statements import (
    Statement,
    compared_columns,
    converted_columns,
    plans_of,
    reads_all,
    statements_of,
    statements_on,
    time_share,
    times_run,
    waiting_for_workers,
    whole_name,
    working_share,
)
from dbdyno.formatting import count, percent, significant
from dbdyno.model.record import Finding
from dbdyno.model.telemetry import TableFacts

ROWS_MIN = 1000
"""Below this a sequential scan is as good as an index."""
SCANS_MIN = 0.01
FEW = 0.1
"""Of a table's rows: an index helps to find so many, and hardly more."""
_JOINS = frozenset({"Nested Loop", "Hash Join", "Merge Join"})
_LIMIT = frozenset({"Limit"})
_SOURCE = "pg_stat_user_tables"
_STATUS = "global_status"


class _Scanned(Struct, frozen=True):
    """A table, its sequential scans per transaction, and the rows that each read."""

    table: TableFacts
    scans: float
    rows: float


class _Lookup(Struct, frozen=True):
    """A statement that looks for rows by columns, or a function of one, without an index."""

    statement: Statement
    columns: list[str]
    is_any: bool
    """Whether a row qualifies by any of the columns (OR); otherwise by all of them."""
    is_planned: bool
    """Whether the server's plan for it is a sequential scan of the table."""
    is_converted: bool = False
    """Whether there is an index that does not serve, because the column is converted."""
    is_pattern: bool = False
    """Whether it compares the column with a pattern; an index may exist that does not serve."""
    is_computed: bool = False
    """Whether it compares a function of the column; an index on the column does not serve."""
    order: str = ""
    """The column by which the first few rows are wanted, if they are."""


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
        return (
            f"“{self.statement.text}” reads {count(self.scanned.rows)} rows of "
            f"{self.scanned.table.name} to find those {self._wanted}: {self._lack}."
        )

    @property
    def _wanted(self) -> str:
        columns = self.lookup.columns
        if self.lookup.is_pattern:
            return f"whose {columns[0]} matches a pattern"
        first = f"that come first by {self.lookup.order}" if self.lookup.order else ""
        if not columns:
            return first
        values = f"with one value of {(' or ' if self.lookup.is_any else ' and ').join(columns)}"
        return f"{values} {first}".rstrip()

    @property
    def _lack(self) -> str:
        columns = self.lookup.columns
        if self.lookup.is_pattern:
            return "no index serves for that"
        if self.lookup.is_converted:
            return (
                f"{columns[0]} has an index, but is compared in another type or collation than "
                "its own"
            )
        begins = self.keys if self.lookup.order else columns
        return f"no index begins with {' or '.join(begins)}"

    @property
    def keys(self) -> list[str]:
        """The keys of the missing indexes."""
        columns = self.lookup.columns
        ordered = [self.lookup.order] if self.lookup.order else []
        return columns if self.lookup.is_any else [", ".join([*columns, *ordered])]


def look(case: Case) -> Outcome:
    """Report the lookup in the table from which sequential scans read most rows, and others."""
    return _by_plan(case) if case.protocol == MYSQL else _by_table(case)


def _by_plan(case: Case) -> Outcome:
    """If the server counts rows read in order for all tables together, plans show the table."""
    read = grown(case, _STATUS, "Handler_read_rnd_next") + grown(case, _STATUS, "Handler_read_next")
    per_transaction = read / committed(case)
    for table in sorted(server_facts(case).tables, key=lambda table: table.rows, reverse=True):
        lookups = [
            *_lookups(case, table),
            *_computed(case, table),
            *_converted(case, table),
            *_behind_views(case, table),
        ]
        planned = [one for one in lookups if one.is_planned]
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
        nothing = NotFound("no large table was scanned by a statement that looks for one value")
        return hidden_scan(case, ROWS_MIN, SCANS_MIN) or nothing
    return _finding(case, blamed[0], _others(case, blamed))


def _suspects(case: Case, table: TableFacts) -> list[_Lookup]:
    """Candidate lookups, those with a sequential scan in their plan first."""
    kinds = (_lookups, _computed, _converted, _patterns, _behind_views)
    for_values = [
        one
        for of_kind in kinds
        for one in of_kind(case, table)
        if not one.is_planned or _finds_few(case, one.statement, table)
    ]
    suspects = [*for_values, *_joined(case, table), *_ordered(case, table)]
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


def _lookups(case: Case, table: TableFacts) -> list[_Lookup]:
    """The statements that look for values of columns that are not the first of an index.

    One such column is enough where a row qualifies by any of them: the others' indexes are then of
    no use.
    """
    leading = _leading(table)
    lookups = []
    for statement in statements_on(case, table):
        columns = _columns(statement, table)
        lacking = [column for column in columns if column not in leading]
        is_any = has_alternatives(statement.sql)
        is_planned = reads_all(case, statement.number, table.name)
        if lacking and (lacking == columns or (is_any and is_planned)):
            lookups.append(_Lookup(statement, lacking, is_any, is_planned))
    return lookups


def _computed(case: Case, table: TableFacts) -> list[_Lookup]:
    """If an index on the function served, the plan would not read the whole table."""
    return [
        _Lookup(
            statement,
            [f"{function}({column})"],
            is_any=False,
            is_planned=True,
            is_computed=True,
        )
        for statement in statements_on(case, table)
        if reads_all(case, statement.number, table.name)
        for function, name in equal_calls(statement.sql)
        if (column := the_one(name, table.columns))
    ]


def _converted(case: Case, table: TableFacts) -> list[_Lookup]:
    """Lookups by a column that is the first of an index, but is compared in another type."""
    leading = _leading(table)
    return [
        _Lookup(statement, [column], is_any=False, is_planned=True, is_converted=True)
        for statement in statements_on(case, table)
        if reads_all(case, statement.number, table.name)
        for column in converted_columns(case, statement.number, table.name)
        if column in leading
    ]


def _patterns(case: Case, table: TableFacts) -> list[_Lookup]:
    """If an index served for a pattern that few rows match, the plan would not read all of them."""
    return [
        _Lookup(statement, [column], is_any=False, is_planned=True, is_pattern=True)
        for statement in statements_on(case, table)
        if reads_all(case, statement.number, table.name)
        for name in like_columns(statement.sql)
        if (column := the_one(name, table.columns))
    ]


def _behind_views(case: Case, table: TableFacts) -> list[_Lookup]:
    """Lookups of statements that do not name the table: the plan has what a view stands for."""
    leading = _leading(table)
    naming = statements_on(case, table)
    return [
        _Lookup(statement, columns, is_any=False, is_planned=True)
        for statement in statements_of(case)
        if statement not in naming
        and reads_all(case, statement.number, table.name)
        and (columns := compared_columns(case, statement.number, table.name))
        and not leading.intersection(columns)
    ]


def _joined(case: Case, table: TableFacts) -> list[_Lookup]:
    """Lookups of the rows that belong to a few of another table."""
    leading = _leading(table)
    return [
        _Lookup(statement, columns, is_any=False, is_planned=True)
        for statement in statements_on(case, table)
        if reads_all(case, statement.number, table.name)
        and (columns := _joined_columns(statement, table))
        and not leading.intersection(columns)
        and _expects_few(case, statement, table, _JOINS)
    ]


def _ordered(case: Case, table: TableFacts) -> list[_Lookup]:
    """Statements that sort what they read of the table and want only the first rows of it."""
    return [
        _Lookup(statement, columns, is_any=False, is_planned=True, order=order)
        for statement in statements_on(case, table)
        if reads_all(case, statement.number, table.name)
        and (name := first_by(statement.sql))
        and (order := the_one(name, table.columns))
        and not has_alternatives(statement.sql)
        and _expects_few(case, statement, table, _LIMIT)
        and not _begins_an_index(table, [*(columns := _columns(statement, table)), order])
    ]


def _begins_an_index(table: TableFacts, key: list[str]) -> bool:
    """Whether an index begins with these columns, those that must be equal in any order."""
    *equal, order = key
    return any(
        {*index.columns[: len(equal)]} == {*equal}
        and index.columns[len(equal) : len(key)] == (order,)
        for index in table.indexes
    )


def _finds_few(case: Case, statement: Statement, table: TableFacts) -> bool:
    """Whether few rows of the table qualify: as expected for some values, or else as measured."""
    few = FEW * table.rows
    return _expected_rows(case, statement, table) <= few or _is_misjudged(case, statement, table)


def _is_misjudged(case: Case, statement: Statement, table: TableFacts) -> bool:
    """Whether the server expects many rows, but the statement was measured to find few."""
    few = FEW * table.rows
    most = rows_found_at_most(case, statement, table)
    return most is not None and most <= few < _expected_rows(case, statement, table)


def _expected_rows(case: Case, statement: Statement, table: TableFacts) -> float:
    """The rows that the server expects to qualify, for the values for which it expects fewest."""
    full_reads = database_of(case).full_reads
    expected = [
        rows
        for plan in plans_of(server_facts(case), statement.number).values()
        for kind, name, rows in plan.nodes
        if name == table.name and kind in full_reads
    ]
    return min(expected, default=table.rows)


def _expects_few(case: Case, statement: Statement, table: TableFacts, of: Set[str]) -> bool:
    """Whether the server expects few rows from each step of these kinds."""
    expected = [
        rows
        for plan in plans_of(server_facts(case), statement.number).values()
        for kind, _, rows in plan.nodes
        if kind in of
    ]
    return max(expected, default=table.rows) <= FEW * table.rows


def _leading(table: TableFacts) -> set[str]:
    """The first columns of its indexes."""
    return {index.columns[0] for index in table.indexes if index.columns}


def _columns(statement: Statement, table: TableFacts) -> list[str]:
    names = equal_columns(statement.sql, whole_name(table))
    return [column for name in names if (column := the_one(name, table.columns))]


def _joined_columns(statement: Statement, table: TableFacts) -> list[str]:
    names = joined_columns(statement.sql, whole_name(table))
    return [column for name in names if (column := the_one(name, table.columns))]


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
    title = "Unusable index: a lookup converts the indexed column" if lookup.is_converted else ""
    return found(
        f"{worst.reads}{_too(len(others))}",
        title=title,
        share=share,
        share_of="client time" if share is not None else "",
        certainty="sure" if lookup.is_planned else "likely",
        evidence={
            "table": table,
            "column": ", ".join([*lookup.columns, *([lookup.order] if lookup.order else [])]),
            "statement": lookup.statement.sql,
            "rows_per_scan": scanned.rows,
            "scans_per_transaction": scanned.scans,
            "others": [one.statement.sql for one in others],
        },
        seen=[
            f"Sequential scans of {table}: {significant(scanned.scans)} per transaction, "
            f"{count(scanned.rows)} rows each.",
            *(planned if lookup.is_planned else []),
            *_estimate_text(case, worst),
            *(f"Likewise {one.reads}" for one in others),
        ],
        why=f"{takes} {percent(share or 0.0)} of client time, and more with every row that is "
        "added.",
        advice=list(dict.fromkeys(line for one in blamed for line in _remedies(case, one))),
        gain=gain_text(case, share) if share is not None else "",
        refute=f"Run again with {_remedied(case, blamed)}: the number of rows read by sequential "
        "scans must fall to zero.",
    )


def _estimate_text(case: Case, one: _Blamed) -> list[str]:
    """What was measured, if the server expects far more rows than that."""
    table, statement = one.scanned.table, one.statement
    if not _is_misjudged(case, statement, table):
        return []
    most = math.ceil(rows_found_at_most(case, statement, table) or 0.0)
    return [
        f"By what it returned or changed, it finds {count(most)} rows on average or fewer; the "
        f"server expects {count(_expected_rows(case, statement, table))}."
    ]


def _remedied(case: Case, blamed: Sequence[_Blamed]) -> str:
    if any(one.lookup.is_converted or _wants_other_words(case, one) for one in blamed):
        return "these statements changed" if len(blamed) > 1 else "that statement changed"
    return "these indexes" if len(blamed) > 1 else "that index"


def _too(others: int) -> str:
    more = amount(others, "other statement lacks one too", "other statements lack one too")
    return f" {more}." if others else ""


def _remedies(case: Case, one: _Blamed) -> list[str]:
    """Indexes to create, or what to change in the statement."""
    table = one.scanned.table
    if one.lookup.is_converted:
        column = one.lookup.columns[0]
        return [
            f"Compare {column} with values of its own type and collation: bind or cast the value, "
            "so that the column is not converted."
        ]
    if one.lookup.is_pattern:
        column = one.lookup.columns[0]
        return [
            f"For patterns that begin with fixed text: "
            f"{_create_index(case, table, f'{column} text_pattern_ops')}",
            "For others: an index on trigrams (pg_trgm, gin_trgm_ops).",
        ]
    if _wants_other_words(case, one):
        return [
            f"Compare the column itself, with a value or a range of values, instead of "
            f"{one.lookup.columns[0]}; or add a generated column for it, with an index."
        ]
    return [_create_index(case, table, key) for key in one.keys]


def _wants_other_words(case: Case, one: _Blamed) -> bool:
    """Whether it compares a function that cannot be indexed as it is: only PostgreSQL's can."""
    return one.lookup.is_computed and case.protocol == MYSQL


def _create_index(case: Case, table: TableFacts, key: str) -> str:
    """The command; for a partitioned table, on the whole table: each partition gets one."""
    if table.partition_of:
        return f"CREATE INDEX ON {table.partition_of} ({key});"
    create = database_of(case).create_index
    return create.format(table=table.name, key=key, name=key.replace(", ", "_"))


RULE = Rule(
    id="missing_index",
    title="Missing index: a lookup reads the whole table",
    look=look,
    covers=frozenset({"cpu_server", "data_read", "parallel_workers", "plan_choice"}),
    accounts_for=frozenset({"cpu", "cpu_queue", "io", "lwlock", "other_wait"}),
)
