"""An adapter for what dbdyno knows little about: few queries, no changes, no telemetry."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from dbdyno.databases.adapter import Adapter, Dialect, FreeConnections, ServerDescription
from dbdyno.databases.connection import Connection
from dbdyno.databases.schema import FoundTable
from dbdyno.databases.standard import StandardDialect
from dbdyno.errors import DbdynoError

# The server is not asked how many sessions it admits: each has its own way to tell.
ADMITTED = 2**31


def bare_adapter(  # noqa: PLR0913 - all that differs between databases of which little is known
    name: str,
    title: str,
    *,
    describe: Callable[[Connection], tuple[str, str]],
    understood: Callable[[str], AbstractContextManager[None]],
    dialect: Dialect | None = None,
    find_tables: Callable[[Connection, Sequence[str]], dict[str, FoundTable]] | None = None,
    snapshot: str = "",
) -> Adapter:
    """Return an adapter.

    ``describe`` returns product and version. ``snapshot`` begins a transaction whose reads all see
    the same state. Without ``find_tables`` no workload's data is loaded. Tables are stored as the
    database does by default.
    """

    def refuse(connection: Connection, _names: Sequence[str]) -> dict[str, FoundTable]:
        """Refuse: a table that is not found would be created, or mistaken for dbdyno's."""
        product, version = describe(connection)
        raise DbdynoError(
            "unknown_product",
            f"dbdyno cannot create tables on {product or version}",
            "run your own scripts (-f) on existing tables",
        )

    return Adapter(
        name=name,
        title=title,
        dialect=dialect or StandardDialect(),
        storage=frozenset(),
        describe=lambda connection: _described(name, *describe(connection)),
        find_tables=find_tables or refuse,
        settle=lambda _connection, _tables: "",
        checkpoint=lambda _connection: "",
        free_connections=lambda _connection: FreeConnections(
            ADMITTED, "the server was not asked", ""
        ),
        one_instant=lambda connection: _transaction(connection, [snapshot] if snapshot else []),
        understood=understood,
        lift_time_limits=lambda _connection: None,
        telemetry=None,
    )


def _described(name: str, product: str, version: str) -> ServerDescription:
    numbers = [int(number) for number in re.findall(r"\d+", version)[:3]]
    major, minor, patch = [*numbers, 0, 0, 0][:3]
    return ServerDescription(
        target=name,
        product=product,
        version=version,
        version_number=major * 10_000 + minor * 100 + patch,
    )


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
