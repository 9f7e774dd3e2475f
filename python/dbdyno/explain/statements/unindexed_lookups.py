"""Statements of the scripts that look for rows of a table without an index that serves.

Each kind of lookup has a function that finds such statements, and says what they look for, what
lacks, and what would serve. How often the table is read, and whether that matters, is not known
here.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from msgspec import Struct

from dbdyno.explain.statements.rows_found import expects_few, finds_few
from dbdyno.explain.statements.sql import the_one
from dbdyno.explain.statements.statements import (
    Statement,
    compared_columns,
    converted_columns,
    reads_all,
    statements_of,
    statements_on,
    whole_name,
)
from dbdyno.model.run import Run
from dbdyno.model.telemetry import TableFacts

_JOINS = frozenset({"Nested Loop", "Hash Join", "Merge Join"})
_LIMIT = frozenset({"Limit"})


class Lookup(Struct, frozen=True, kw_only=True):
    """A statement that looks for rows of a table without an index that serves."""

    statement: Statement
    columns: Sequence[str]
    """What it compares, then what it orders by: columns, or a function of one."""
    wanted: str
    """The rows that it looks for, after *those*."""
    lack: str
    """Why no index serves, as a sentence without its end."""
    advice: Sequence[str]
    changes_statement: bool = False
    """Whether the advice is to change the statement; otherwise it is to create an index."""
    is_planned: bool = True
    """Whether the server's plan for it is to read the whole table."""
    title: str = ""
    """The finding's title, if an index exists."""


def lookups(run: Run, table: TableFacts) -> Iterator[Lookup]:
    """Yield the lookups for rows with given values, whether or not they find few rows."""
    kinds = (_by_value, _by_function, _by_converted_column, _behind_view)
    return _each(kinds, run, table)


def lookups_of_few(run: Run, table: TableFacts) -> Iterator[Lookup]:
    """Yield the lookups that find few rows, as PostgreSQL's plans and counters tell."""
    kinds = (_by_value, _by_function, _by_converted_column, _by_pattern, _behind_view)
    for one in _each(kinds, run, table):
        if not one.is_planned or finds_few(run, one.statement, table):
            yield one
    yield from _each((_joined, _ordered), run, table)


def _each(
    kinds: Sequence[Callable[[Run, TableFacts], Iterator[Lookup]]], run: Run, table: TableFacts
) -> Iterator[Lookup]:
    return chain.from_iterable(of_kind(run, table) for of_kind in kinds)


def _by_value(run: Run, table: TableFacts) -> Iterator[Lookup]:
    """By values of columns that are not the first of an index.

    One such column is enough where a row qualifies by any of them: the others' indexes are then of
    no use.
    """
    leading = _leading(table)
    for statement in statements_on(run, table):
        columns = _known(table, statement.sql.equal_columns(whole_name(table)))
        lacking = [column for column in columns if column not in leading]
        is_any = statement.sql.has_alternatives
        is_planned = reads_all(run, statement.number, table.name)
        if lacking and (lacking == columns or (is_any and is_planned)):
            yield Lookup(
                statement=statement,
                columns=lacking,
                wanted=f"with one value of {(' or ' if is_any else ' and ').join(lacking)}",
                lack=f"no index begins with {' or '.join(lacking)}",
                advice=_indexes(run, table, lacking if is_any else [", ".join(lacking)]),
                is_planned=is_planned,
            )


def _by_function(run: Run, table: TableFacts) -> Iterator[Lookup]:
    """If an index on the function served, the plan would not read the whole table.

    On PostgreSQL it can be created; elsewhere, only the column itself has one.
    """
    for statement in _reading_all(run, table, statements_on(run, table)):
        for function, name in statement.sql.equal_calls:
            if column := the_one(name, table.columns):
                call = f"{function}({column})"
                is_indexable = run.database.has("function_indexes")
                instead = (
                    "Compare the column itself, with a value or a range of values, instead of "
                    f"{call}; or add a generated column for it, with an index."
                )
                yield Lookup(
                    statement=statement,
                    columns=[call],
                    wanted=f"with one value of {call}",
                    lack=f"no index begins with {call}",
                    advice=_indexes(run, table, [call]) if is_indexable else [instead],
                    changes_statement=not is_indexable,
                )


def _by_converted_column(run: Run, table: TableFacts) -> Iterator[Lookup]:
    """By a column that is the first of an index, but is compared in another type."""
    leading = _leading(table)
    for statement in _reading_all(run, table, statements_on(run, table)):
        for column in converted_columns(run, statement.number, table.name):
            if column in leading:
                yield Lookup(
                    statement=statement,
                    columns=[column],
                    wanted=f"with one value of {column}",
                    lack=f"{column} has an index, but is compared in another type or collation "
                    "than its own",
                    advice=[
                        f"Compare {column} with values of its own type and collation: bind or "
                        "cast the value, so that the column is not converted."
                    ],
                    changes_statement=True,
                    title="Unusable index: a lookup converts the indexed column",
                )


def _by_pattern(run: Run, table: TableFacts) -> Iterator[Lookup]:
    """If an index served for a pattern that few rows match, the plan would not read all of them."""
    for statement in _reading_all(run, table, statements_on(run, table)):
        for name in statement.sql.like_columns:
            if column := the_one(name, table.columns):
                (index,) = _indexes(run, table, [f"{column} text_pattern_ops"])
                yield Lookup(
                    statement=statement,
                    columns=[column],
                    wanted=f"whose {column} matches a pattern",
                    lack="no index serves for that",
                    advice=[
                        f"For patterns that begin with fixed text: {index}",
                        "For others: an index on trigrams (pg_trgm, gin_trgm_ops).",
                    ],
                )


def _behind_view(run: Run, table: TableFacts) -> Iterator[Lookup]:
    """By statements that do not name the table: the plan has what a view stands for."""
    naming = statements_on(run, table)
    others = [statement for statement in statements_of(run) if statement not in naming]
    for statement in _reading_all(run, table, others):
        columns = compared_columns(run, statement.number, table.name)
        if columns and not _leading(table).intersection(columns):
            yield _by_all(run, table, statement, columns)


def _joined(run: Run, table: TableFacts) -> Iterator[Lookup]:
    """For the rows that belong to a few of another table."""
    for statement in _reading_all(run, table, statements_on(run, table)):
        columns = _known(table, statement.sql.joined_columns(whole_name(table)))
        is_unindexed = columns and not _leading(table).intersection(columns)
        if is_unindexed and expects_few(run, statement, table, _JOINS):
            yield _by_all(run, table, statement, columns)


def _ordered(run: Run, table: TableFacts) -> Iterator[Lookup]:
    """For the first rows by a column, by sorting all that is read of the table."""
    for statement in _reading_all(run, table, statements_on(run, table)):
        name = statement.sql.first_by
        order = the_one(name, table.columns) if name else None
        equal = _known(table, statement.sql.equal_columns(whole_name(table)))
        if (
            order
            and not statement.sql.has_alternatives
            and expects_few(run, statement, table, _LIMIT)
            and not _begins_an_index(table, [*equal, order])
        ):
            key = ", ".join([*equal, order])
            values = f"with one value of {' and '.join(equal)} " if equal else ""
            yield Lookup(
                statement=statement,
                columns=[*equal, order],
                wanted=f"{values}that come first by {order}",
                lack=f"no index begins with {key}",
                advice=_indexes(run, table, [key]),
            )


def _by_all(run: Run, table: TableFacts, statement: Statement, columns: list[str]) -> Lookup:
    """Return the lookup of rows with one value of each of the columns."""
    return Lookup(
        statement=statement,
        columns=columns,
        wanted=f"with one value of {' and '.join(columns)}",
        lack=f"no index begins with {' or '.join(columns)}",
        advice=_indexes(run, table, [", ".join(columns)]),
    )


def _reading_all(
    run: Run, table: TableFacts, statements: Sequence[Statement]
) -> Iterator[Statement]:
    """Yield the statements for which the server plans to read the whole table."""
    return (one for one in statements if reads_all(run, one.number, table.name))


def _known(table: TableFacts, names: Sequence[str]) -> list[str]:
    return [column for name in names if (column := the_one(name, table.columns))]


def _leading(table: TableFacts) -> set[str]:
    """The first columns of its indexes."""
    return {index.columns[0] for index in table.indexes if index.columns}


def _begins_an_index(table: TableFacts, key: Sequence[str]) -> bool:
    """Whether an index begins with these columns, those that must be equal in any order."""
    *equal, order = key
    return any(
        {*index.columns[: len(equal)]} == {*equal}
        and index.columns[len(equal) : len(key)] == (order,)
        for index in table.indexes
    )


def _indexes(run: Run, table: TableFacts, keys: Sequence[str]) -> list[str]:
    """The commands; for a partitioned table, on the whole table: each partition gets one."""
    if table.partition_of:
        return [f"CREATE INDEX ON {table.partition_of} ({key});" for key in keys]
    create = run.database.terms.create_index
    return [create.format(table=table.name, key=key, name=key.replace(", ", "_")) for key in keys]
