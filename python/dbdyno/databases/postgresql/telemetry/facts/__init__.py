"""The properties of a PostgreSQL server that affect the statements of a load.

Only reads and explains; executes, changes and leaves behind nothing.
"""

from collections.abc import Sequence

from psycopg import Connection

from dbdyno.databases.postgresql.telemetry.facts.plans import plan_facts
from dbdyno.databases.postgresql.telemetry.facts.settings import settings
from dbdyno.databases.postgresql.telemetry.facts.tables import table_facts
from dbdyno.databases.postgresql.telemetry.facts.used import (
    partitions,
    tables_recorded,
    used_tables,
)
from dbdyno.databases.telemetry import ScriptStatement
from dbdyno.model.telemetry import ServerFacts

EXTENSIONS = "select extname::text from pg_extension order by extname"


def facts(connection: Connection, statements: Sequence[ScriptStatement]) -> ServerFacts:
    """Return the settings, tables, indexes and plans that matter to these statements."""
    values, units = settings(connection)
    plans = plan_facts(connection, statements)
    planned = {relation for plan in plans for _, relation, _ in plan.nodes if relation}
    used = {*used_tables(connection, statements), *tables_recorded(connection, planned)}
    debug = values.get("debug_assertions")
    return ServerFacts(
        settings=values,
        tables=table_facts(connection, sorted({*used, *partitions(connection, used)})),
        plans=plans,
        is_debug_build=None if debug is None else debug == "on",
        extensions=tuple(name for (name,) in connection.execute(EXTENSIONS)),
        details={"units": units},
    )
