"""How the server means to carry out each statement, asked without ever carrying one out.

A statement is prepared, planned for EXECUTE, and forgotten, in a read-only transaction that is
rolled back. That works alike on all versions, and plans as for a client of the load, since
that prepares, too. What the server refuses to prepare or to plan is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import Connection, sql

from dbdyno.model.telemetry import PlanFacts
from dbdyno.targets.postgresql.facts.examples import example
from dbdyno.targets.postgresql.facts.used import used_tables
from dbdyno.targets.script_text import Prepared, first_word, prepared
from dbdyno.targets.telemetry import ScriptStatement

NAME = "dbdyno_explained"
PLANNED = ("select", "insert", "update", "delete", "with", "values", "merge", "table")
VARIANTS = {"generic": "force_generic_plan", "custom": "force_custom_plan"}

# Nobody is kept waiting, and what our own session has set for itself shapes no plan.
CAUTION = (
    "set transaction read only",
    "set local lock_timeout to '100ms'",
    "set local statement_timeout to '1s'",
    "set local jit to default",
    "set local max_parallel_workers_per_gather to default",
)


def plan_facts(
    connection: Connection, statements: Sequence[ScriptStatement]
) -> tuple[PlanFacts, ...]:
    """The plans of those that can be planned."""
    return tuple(plan for statement in statements for plan in _plans(connection, statement))


def _plans(connection: Connection, statement: ScriptStatement) -> list[PlanFacts]:
    ready = prepared(statement.sql)
    if ready is None or first_word(statement.sql) not in PLANNED:
        return []
    values = example(connection, ready, used_tables(connection, [statement]))
    # Without a value there is no example, and then only the plan for any values.
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
    """Prepared statements outlive a rollback, so they are removed by name."""
    try:
        with connection.transaction(force_rollback=True):
            for setting in CAUTION:
                connection.execute(setting)
            # In binary form a text can only be one command, however it may be read.
            connection.execute(f"prepare {NAME} as {statement.text}".encode(), binary=True)
            yield
    finally:
        known = "select 1 from pg_prepared_statements where name = %s"
        if connection.execute(known, [NAME]).fetchone():
            connection.execute(f"deallocate {NAME}".encode())


def _explained(
    connection: Connection, number: int, variant: str, values: Sequence[str | None]
) -> PlanFacts:
    connection.execute(f"set local plan_cache_mode to {VARIANTS[variant]}".encode())
    call = sql.SQL("execute {}").format(sql.Identifier(NAME))
    if values:
        call += sql.SQL("({})").format(sql.SQL(", ").join(map(sql.Literal, values)))
    as_data = connection.execute(sql.SQL("explain (verbose, format json) ") + call).fetchone()
    as_text = connection.execute(sql.SQL("explain ") + call).fetchall()
    assert as_data is not None  # an explanation has one row
    plan = as_data[0][0]["Plan"]
    return PlanFacts(
        statement=number,
        variant=variant,
        cost=plan["Total Cost"],
        nodes=tuple(_nodes(plan)),
        text="\n".join(line for (line,) in as_text),
    )


def _nodes(plan: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    yield plan["Node Type"], _relation(plan), float(plan["Plan Rows"])
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _relation(node: Mapping[str, Any]) -> str:
    """As all that dbdyno records calls it; empty for a step that reads none.

    A function in a FROM has a schema, too, and is no relation.
    """
    name: str = node.get("Relation Name", "")
    is_plain = not name or node.get("Schema", "public") == "public"
    return name if is_plain else f"{node['Schema']}.{name}"
