"""The properties of a MariaDB or MySQL server that affect the statements of a load.

Only reads and explains; executes, changes and leaves behind nothing.
"""

from collections.abc import Sequence

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.telemetry.facts.plans import plan_facts
from dbdyno.databases.mysql.telemetry.facts.settings import UNITS, settings
from dbdyno.databases.mysql.telemetry.facts.tables import table_facts, used_tables
from dbdyno.databases.mysql.telemetry.server_context import server_context
from dbdyno.databases.telemetry import ScriptStatement
from dbdyno.model.telemetry import ServerFacts

DEBUG_SIGN = "-debug"


def facts(connection: Connection, statements: Sequence[ScriptStatement]) -> ServerFacts:
    """Return the settings, tables, indexes and plans that matter to these statements."""
    values = settings(connection)
    return ServerFacts(
        settings=values,
        tables=table_facts(connection, used_tables(connection, statements)),
        plans=plan_facts(connection, statements),
        is_debug_build=DEBUG_SIGN in values.get("version", ""),
        details={
            "units": {name: unit for name, unit in UNITS.items() if name in values},
            "waits_are_told": server_context(connection).has_waits,
        },
    )
