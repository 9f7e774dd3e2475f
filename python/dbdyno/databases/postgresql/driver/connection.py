"""A control connection over psycopg, with what telemetry knows of its session."""

from functools import cached_property
from typing import Any

from psycopg import Connection, Error
from psycopg.rows import TupleRow


def serving_process(connection: Connection) -> int:
    """Return the number of the process that answers, or the announced one if nobody tells."""
    announced = connection.info.backend_pid
    try:
        row = connection.execute("select pg_backend_pid()").fetchone()
    except Error:  # a server that only speaks the protocol
        if connection.closed:
            raise
        return announced
    return int(row[0]) if row else announced


class PostgresqlConnection(Connection[TupleRow]):
    """A session in autocommit mode.

    ``prepared`` are the names of the queries that telemetry has prepared in it, by their text;
    ``has_seen_waiters`` is whether its last sample of the server's sessions and locks found a
    session that waits.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.prepared: dict[str, bytes] = {}
        self.has_seen_waiters = False

    @cached_property
    def is_lent(self) -> bool:
        """Whether a pooler lends us its sessions: it announces process numbers of its own."""
        return serving_process(self) != self.info.backend_pid
