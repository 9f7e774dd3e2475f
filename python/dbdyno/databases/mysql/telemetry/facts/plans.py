"""The server's plan for each statement, obtained without executing it.

The EXPLAIN is prepared with placeholders for the script's variables, and executed with values that
really exist in the columns: the first that the table returns, as a number where the script's
variable is one, because an index on text cannot be searched for a number. Statements that the
server cannot explain are left out.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pymysql

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.telemetry.facts.tables import used_tables, views
from dbdyno.databases.script_text import first_word
from dbdyno.databases.telemetry import ScriptStatement
from dbdyno.engine import tokens
from dbdyno.model.telemetry import PlanFacts

NAME = "dbdyno_explained"
PLANNED = ("select", "insert", "update", "delete", "with", "replace")
VARIANT = "custom"
VARIABLES = ("variable", "parameter")
MARK = r"([:$]\w+)"
# From where it begins: from inside a literal of megabytes, each search would take as many steps.
COLUMN = r"`?\b(\w+)`?"
COMPARED = re.compile(rf"{COLUMN}\s*(?:=|<=|>=|<|>|\bin\s*\()\s*{MARK}", re.IGNORECASE)
BETWEEN = re.compile(rf"{COLUMN}\s+between\s+{MARK}\s+and\s+{MARK}", re.IGNORECASE)
VALUE = "select {column} from {table} where {column} is not null limit 1"
OWNER = """
    select concat('`', table_name, '`') from information_schema.columns
    where table_schema = database() and table_name in %s and column_name = %s limit 1"""
ANY_VALUE = 1

# What EXPLAIN warns of: the column, in MariaDB with its table.
UNUSABLE = re.compile(
    r"Cannot use key `[^`]+` part\[0\] for lookup: (?:`[^`]+`\.)?`([^`]+)`\.`([^`]+)` of "
)
UNUSABLE_MYSQL = re.compile(r"Cannot use ref access on index '.+' due to .+ on field '(.+)'")

FULL_READ = "ALL"
STRING = re.compile(r"'(?:[^'\\]|\\.|'')*'")
# What a condition compares with a value: p.`id` = 5, kk.d = DATE'', (`shop`.`p`.`id` = 5).
QUOTED = r"(?:`[^`]+`|\w+)"
WITH_A_VALUE = re.compile(
    rf"(?:{QUOTED}\.)?({QUOTED})\.({QUOTED})\)? (?:=|<=>|in) \(?(?:-?\d|@|\w*')", re.IGNORECASE
)


def plan_facts(
    connection: Connection, statements: Sequence[ScriptStatement]
) -> tuple[PlanFacts, ...]:
    """Return the plans of the statements that can be explained."""
    connection.execute("set session transaction read write")  # otherwise no UPDATE can be explained
    try:
        found = [_plan(connection, statement) for statement in statements]
    finally:
        connection.execute("set session transaction read only")
    return tuple(plan for plan in found if plan)


def _plan(connection: Connection, statement: ScriptStatement) -> PlanFacts | None:
    text = with_marks(statement.sql)
    if text is None or first_word(statement.sql, "mysql") not in PLANNED:
        return None
    try:
        explained, warnings = _explained(connection, text, _examples(connection, statement))
    except pymysql.Error:
        if connection.closed:
            raise
        return None
    plan = json.loads(explained)
    known = _known_as(
        [statement.sql, *views(connection, [statement])], used_tables(connection, [statement])
    )
    nodes = tuple((kind, _of(known, name), rows) for kind, name, rows in _nodes(plan))
    return PlanFacts(
        statement=statement.statement,
        variant=VARIANT,
        cost=_cost(plan),
        nodes=nodes,
        text=explained,
        converted=tuple(
            (_of(known, table), column)
            for table, column in converted(warnings, [table for _, table, _ in nodes])
        ),
        compared=tuple((_of(known, table), column) for table, column in compared(plan)),
        indexes=tuple(table.get("key") or "" for table in _tables(plan)),
    )


def _known_as(texts: Sequence[str], tables: Sequence[str]) -> dict[str, str]:
    """Return what a plan may call these tables: their names in any case, and what follows them.

    A word that follows a table's name, perhaps after AS, is its alias if a plan uses it as a name.
    """
    known = {table.casefold(): table for table in tables}
    for text in texts:
        found = (token.text.strip() for token in tokens(text, "mysql"))
        words = [word.strip('`"') for word in found if word]
        words = [word for word in words if word.casefold() != "as"]
        for table, alias in pairwise(words):
            if table.casefold() in known:
                known.setdefault(alias.casefold(), known[table.casefold()])
    return known


def _of(known: Mapping[str, str], name: str) -> str:
    return known.get(name.casefold(), name)


def with_marks(text: str) -> str | None:
    """Return the text with a question mark for each variable; None for several statements."""
    parts = [
        "?" if token.kind in VARIABLES else token.text
        for token in tokens(text.strip().rstrip(";"), "mysql")
    ]
    return None if ";" in parts else "".join(parts)


def _examples(connection: Connection, statement: ScriptStatement) -> list[Any]:
    """Return a value for each variable, in order of appearance."""
    columns = compared_columns(statement.sql)
    tables = used_tables(connection, [statement])
    return [
        _example(connection, tables, statement, token.text, columns.get(token.text))
        for token in tokens(statement.sql, "mysql")
        if token.kind in VARIABLES
    ]


def _example(
    connection: Connection,
    tables: Sequence[str],
    statement: ScriptStatement,
    variable: str,
    column: str | None,
) -> Any:
    """Return a value of the column, of the type in which the load sends the variable."""
    value = _value(connection, tables, column) if column else ANY_VALUE
    return as_number(value) if variable[1:] in statement.numbers else value


def as_number(value: Any) -> Any:
    """Return the number that a text contains; any number if it contains none."""
    if not isinstance(value, str):
        return value
    return int(value) if value.isdecimal() else ANY_VALUE


def converted(warnings: Sequence[str], tables: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the columns that the server compares in another type or collation than their own.

    MySQL does not name the table: then it is known if the statement reads only one.
    """
    for warning in warnings:
        if match := UNUSABLE.match(warning):
            yield match[1], match[2]
        elif (match := UNUSABLE_MYSQL.match(warning)) and len(tables) == 1:
            yield tables[0], match[1]


def compared(plan: Any) -> Iterator[tuple[str, str]]:
    """Yield the columns by whose values a read of a whole table selects; all must be equal."""
    for table in _tables(plan):
        condition = STRING.sub("''", table.get("attached_condition", ""))
        if table["access_type"] == FULL_READ and " or " not in condition:
            for name, column in WITH_A_VALUE.findall(condition):
                if name.strip("`") == table["table_name"]:
                    yield table["table_name"], column.strip("`")


def compared_columns(text: str) -> dict[str, str]:
    """Return the column with which each variable is compared, where that is obvious."""
    found = {variable: column for column, variable in COMPARED.findall(text)}
    for column, *ends in BETWEEN.findall(text):
        found |= dict.fromkeys(ends, column)
    return found


def _value(connection: Connection, tables: Sequence[str], column: str) -> Any:
    """Return the first value of the column, if there is one."""
    owner = connection.execute(OWNER, [tables, column]).fetchone() if tables else None
    query = VALUE.format(column=f"`{column}`", table=owner[0]) if owner else ""
    row = connection.execute(query).fetchone() if query else None
    return row[0] if row else ANY_VALUE


def _explained(connection: Connection, text: str, values: Sequence[Any]) -> tuple[str, list[str]]:
    """Return the plan as JSON, and its warnings; deallocate the prepared statement."""
    connection.execute(f"prepare {NAME} from %s", [f"explain format=json {text}"])
    try:
        for number, value in enumerate(values):
            connection.execute(f"set @{NAME}_{number} = %s", [value])
        given = ", ".join(f"@{NAME}_{number}" for number in range(len(values)))
        (plan,) = connection.execute(
            f"execute {NAME}{' using ' if given else ''}{given}"
        ).fetchone()
        warnings = connection.execute("show warnings").fetchall()
        return str(plan), [message for _, _, message in warnings]
    finally:
        connection.execute(f"deallocate prepare {NAME}")


def _cost(plan: dict[str, Any]) -> float:
    """Return MySQL's estimate; 0 for MariaDB, which reports none."""
    block = plan.get("query_block", {})
    return float(str(block.get("cost_info", {}).get("query_cost", 0)))


def _nodes(plan: Any) -> Iterator[tuple[str, str, float]]:
    """Yield the tables in the order in which they are read, with their access type and rows."""
    for table in _tables(plan):
        rows = table.get("rows", table.get("rows_examined_per_scan", 0))
        yield table["access_type"], table["table_name"], float(str(rows))


def _tables(plan: Any) -> Iterator[dict[str, Any]]:
    """Yield the parts of a plan that read a table."""
    if isinstance(plan, dict):
        if "access_type" in plan and "table_name" in plan:
            yield plan
        plan = list(plan.values())
    if isinstance(plan, list):
        for part in plan:
            yield from _tables(part)
