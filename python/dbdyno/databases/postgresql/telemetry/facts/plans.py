"""The server's plan for each statement, obtained without executing it.

A statement is prepared, explained with EXECUTE, and deallocated, in a read-only transaction that is
rolled back. That works on all versions, and plans as for a client of the load, which also prepares
its statements. Statements that the server cannot prepare or plan are left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import Connection, sql

from dbdyno.databases.postgresql.telemetry.facts.examples import example
from dbdyno.databases.postgresql.telemetry.facts.used import used_tables
from dbdyno.databases.script_text import Prepared, first_word, prepared
from dbdyno.databases.telemetry import ScriptStatement
from dbdyno.model.telemetry import PlanFacts

NAME = "dbdyno_explained"
PLANNED = ("select", "insert", "update", "delete", "with", "values", "merge", "table")
# A filter that converts a column to compare it: ((code)::numeric = $1).
CONVERTED = re.compile(r'\((?:\w+\.)?("[^"]+"|\w+)\)::([a-z ]+?)(?:\(\d+\))? = ')
# One that compares a column with a value: (line.order_id = $1), ((line.code)::text = ANY ('{a}')).
COMPARED = re.compile(r"""\(\(?(?:\w+\.)?("[^"]+"|\w+)(?:\)::text)? = (?:ANY \()?(?:\$\d|'|-?\d)""")
# varchar is compared as text at no cost: an index on it serves.
SAME = "text"
VARIANTS = {"generic": "force_generic_plan", "custom": "force_custom_plan"}

# Blocks nobody, and keeps our session's own settings from affecting a plan.
CAUTION = (
    "set transaction read only",
    "set local lock_timeout to '100ms'",
    "set local statement_timeout to '1s'",
    "set local enable_sort to default",
    "set local jit to default",
    "set local max_parallel_workers_per_gather to default",
)


def plan_facts(
    connection: Connection, statements: Sequence[ScriptStatement]
) -> tuple[PlanFacts, ...]:
    """Return the plans of the statements that can be planned."""
    return tuple(plan for statement in statements for plan in _plans(connection, statement))


def _plans(connection: Connection, statement: ScriptStatement) -> list[PlanFacts]:
    ready = prepared(statement.sql, "postgresql")
    if ready is None or first_word(statement.sql, "postgresql") not in PLANNED:
        return []
    values = example(connection, ready, used_tables(connection, [statement]))
    # Without any value there is no example, and only the generic plan is requested.
    variants = list(VARIANTS) if any(value is not None for value in values) else ["generic"]
    try:
        with _prepared(connection, ready):
            return [
                _explained(connection, statement.statement, variant, values) for variant in variants
            ]
    except psycopg.Error:
        return []


@contextmanager
def _prepared(connection: Connection, statement: Prepared) -> Iterator[None]:
    """Prepare a statement for the block.

    It would survive the rollback, so it is deallocated, in the same transaction, since a pooler may
    lend us another session for the next; the savepoint makes that possible after an error, too.
    """
    with connection.transaction(force_rollback=True):
        for setting in CAUTION:
            connection.execute(setting)
        # In binary mode the text can only be one command, however it may be parsed.
        connection.execute(f"prepare {NAME} as {statement.text}".encode(), binary=True)
        try:
            with connection.transaction():
                yield
        finally:
            connection.execute(f"deallocate {NAME}".encode())


def _explained(
    connection: Connection, number: int, variant: str, values: Sequence[str | None]
) -> PlanFacts:
    connection.execute(f"set local plan_cache_mode to {VARIANTS[variant]}".encode())
    call = sql.SQL("execute {}").format(sql.Identifier(NAME))
    if values:
        call += sql.SQL("({})").format(sql.SQL(", ").join(map(sql.Literal, values)))
    as_text = connection.execute(sql.SQL("explain ") + call).fetchall()
    # Planned a second time, with the catalog in the session's caches, as in a session of the load.
    in_json = sql.SQL("explain (verbose, summary, format json) ")
    as_data = connection.execute(in_json + call).fetchone()
    assert as_data is not None  # EXPLAIN in JSON returns one row
    explained = as_data[0][0]
    plan = explained["Plan"]
    return PlanFacts(
        statement=number,
        variant=variant,
        cost=plan["Total Cost"],
        nodes=tuple(_nodes(plan)),
        text="\n".join(line for (line,) in as_text),
        converted=tuple(_converted(plan)),
        compared=tuple(_compared(plan)),
        indexes=tuple(_indexes(plan)),
        # A generic plan is kept: the second time, it is not made.
        planning_ms=explained.get("Planning Time") if variant == "custom" else None,
    )


def _nodes(plan: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    yield plan["Node Type"], _relation(plan), float(plan["Plan Rows"])
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _indexes(plan: Mapping[str, Any]) -> Iterator[str]:
    yield plan.get("Index Name", "")
    for child in plan.get("Plans", ()):
        yield from _indexes(child)


def _converted(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the columns that a scan's filter converts to compare them."""
    for column, converted_to in CONVERTED.findall(plan.get("Filter", "")):
        if _relation(plan) and converted_to != SAME:
            yield _relation(plan), column.strip('"')
    for child in plan.get("Plans", ()):
        yield from _converted(child)


def _compared(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the columns by whose values a sequential scan selects; all must be equal."""
    condition = plan.get("Filter", "")
    if plan["Node Type"] == "Seq Scan" and " OR " not in condition:
        for column in COMPARED.findall(condition):
            yield _relation(plan), column.strip('"')
    for child in plan.get("Plans", ()):
        yield from _compared(child)


def _relation(node: Mapping[str, Any]) -> str:
    """Return the table's name in dbdyno's form; empty for a step that reads no table.

    A function in a FROM clause has a schema too, but is not a table.
    """
    name: str = node.get("Relation Name", "")
    is_plain = not name or node.get("Schema", "public") == "public"
    return name if is_plain else f"{node['Schema']}.{name}"
