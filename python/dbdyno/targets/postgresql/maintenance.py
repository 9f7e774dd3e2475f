"""Before a run on a server of our own: the same state each time. Never for a target not ours."""

from collections.abc import Sequence

from psycopg import Connection, sql


def settle(connection: Connection, tables: Sequence[str]) -> None:
    """Clears dead rows left by the run before, then writes everything out."""
    for table in tables:
        connection.execute(sql.SQL("vacuum (analyze) {}").format(sql.Identifier(table)))
    checkpoint(connection)


def checkpoint(connection: Connection) -> None:
    """Writes all dirty pages, so that loading is not paid for by the run after it."""
    connection.execute("checkpoint")
