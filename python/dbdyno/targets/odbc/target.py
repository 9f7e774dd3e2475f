"""What all ODBC targets have in common: few queries, no changes, no telemetry."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from dbdyno.targets.base import Dialect, FreeConnections, ServerDescription, Target
from dbdyno.targets.connection import Connection
from dbdyno.targets.odbc.server_errors import understood
from dbdyno.targets.schema import FoundTable

# A driver does not report how many sessions its server admits.
ADMITTED = 2**31


def behind_odbc(
    name: str,
    title: str,
    *,
    dialect: Dialect,
    find_tables: Callable[[Connection, Sequence[str]], dict[str, FoundTable]],
    snapshot: str = "",
) -> Target:
    """Return a target; ``snapshot`` begins a transaction whose reads all see the same state.

    Tables are stored as the database does by default.
    """
    return Target(
        name=name,
        title=title,
        dialect=dialect,
        storage=frozenset(),
        describe=lambda connection: _describe(name, connection),
        find_tables=find_tables,
        settle=lambda _connection, _tables: "",
        checkpoint=lambda _connection: "",
        free_connections=_free_connections,
        one_instant=lambda connection: _one_instant(connection, snapshot),
        understood=understood,
        lift_time_limits=lambda _connection: None,
        telemetry=None,
    )


def _describe(name: str, connection: Connection) -> ServerDescription:
    """Return the product and version, which every standard driver can report."""
    numbers = [int(number) for number in re.findall(r"\d+", connection.version)[:3]]
    major, minor, patch = [*numbers, 0, 0, 0][:3]
    return ServerDescription(
        target=name,
        product=connection.product,
        version=connection.version,
        version_number=major * 10_000 + minor * 100 + patch,
    )


def _free_connections(_connection: Connection) -> FreeConnections:
    return FreeConnections(ADMITTED, "ODBC does not tell", "")


def _one_instant(connection: Connection, snapshot: str) -> AbstractContextManager[None]:
    return _transaction(connection, [snapshot] if snapshot else [])


@contextmanager
def _transaction(connection: Connection, begin: Sequence[str]) -> Iterator[None]:
    """Run the block in a transaction; without a ``begin``, each read sees its own state."""
    for statement in begin:
        connection.execute(statement)
    try:
        yield
    finally:
        if begin and not connection.closed:
            connection.execute("rollback")  # nothing was written
