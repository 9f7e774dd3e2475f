"""Around a run: the same state each time, for servers of our own; one instant to read at."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from psycopg import Connection, sql


def settle(connection: Connection, tables: Sequence[str]) -> str:
    """Clears dead rows left by the run before, then writes everything out."""
    for table in tables:
        connection.execute(sql.SQL("vacuum (analyze) {}").format(sql.Identifier(table)))
    return checkpoint(connection)


def checkpoint(connection: Connection) -> str:
    """Writes all dirty pages, so that loading is not paid for by the run after it."""
    connection.execute("checkpoint")
    return ""  # it comes back when all is done


@contextmanager
def one_instant(connection: Connection) -> Iterator[None]:
    """A block whose reads see the same committed state."""
    with connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        yield
