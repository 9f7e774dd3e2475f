"""Puts private servers into the same state before each run; reads at one instant."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from psycopg import Connection, sql


def settle(connection: Connection, tables: Sequence[str]) -> str:
    """Vacuum the dead rows left by the run before, then write everything out."""
    for table in tables:
        connection.execute(sql.SQL("vacuum (analyze) {}").format(sql.Identifier(table)))
    return checkpoint(connection)


def checkpoint(connection: Connection) -> str:
    """Write out all dirty pages, so that the next run does not pay for loading."""
    connection.execute("checkpoint")
    return ""  # it returns when everything is written


@contextmanager
def one_instant(connection: Connection) -> Iterator[None]:
    """Run the block so that all its reads see the same committed state.

    A policy that hides rows from the role makes a read fail, instead of changing its result.
    """
    with connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        connection.execute("set local row_security to off")
        yield
