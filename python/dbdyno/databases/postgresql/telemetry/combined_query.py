"""Reads all sources of one second with one query, since a query costs more than its answer.

Each part is first read alone, which shows whether it can be read and what its columns are called.
After that, reading one part brings the answers of all, and each is returned once, at the next
reading of its part. An expensive part stays alone, so that it can be read less often. If the
combined query fails, all parts are read alone from then on, so that only those that fail are
missing; only for a while if the server was too busy to answer in time.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import psycopg
from msgspec import Struct
from psycopg import errors

from dbdyno.databases.postgresql.driver.connection import PostgresqlConnection
from dbdyno.databases.postgresql.telemetry.prepared_queries import array_of, execute, known
from dbdyno.model.source import Numbers

# Sources that are read in sequence share an answer; an older one is out of date.
FRESH_S = 0.1
# The limit of our CPU time for the first reading of a part, which decides whether it stays alone.
EXPENSIVE_S = 0.001
# How long the combined query is not used after the server was too busy for it.
PAUSE_S = 10.0
TOO_BUSY = (errors.QueryCanceled, errors.LockNotAvailable)

Reader: TypeAlias = Callable[[PostgresqlConnection], Mapping[str, Numbers]]

TABLES = "$1::oid[]"
"""In a query: the tables that are recorded."""


class _Part(Struct):
    """A query whose first column is the object, and the names of the others once they are known."""

    query: str
    names: Sequence[str] = ()
    is_expensive: bool = False

    def as_rows_of(self, source: str) -> str:
        """Return the query in the form that all parts share."""
        columns = [f"c{place}" for place in range(len(self.names))]
        return (
            f"select '{source}', object, array[{'::float8, '.join(columns)}::float8] "
            f"from ({self.query}) part(object, {', '.join(columns)})"
        )


class CombinedQuery:
    """The parts of one server; ``tables`` are those that are recorded individually."""

    def __init__(self, tables: Sequence[int], clock: Callable[[], float] = time.monotonic) -> None:
        self._tables = array_of(tables)
        self._clock = clock
        self._parts: dict[str, _Part] = {}
        self._answers: dict[str, list[tuple[str, Sequence[float | None]]]] = {}
        self._answered_by: PostgresqlConnection | None = None
        self._answered_at = 0.0
        self._apart_until = 0.0

    def reader(self, source: str, query: str) -> Reader:
        """Add a part; return its reader."""
        self._parts[source] = _Part(query)
        return lambda connection: self._read(connection, source)

    def alone(self, query: str) -> Reader:
        """Return the reader of an expensive query, which is no part and is read less often."""
        return lambda connection: self._read_alone(connection, _Part(query))

    def _read(self, connection: PostgresqlConnection, source: str) -> Mapping[str, Numbers]:
        part = self._parts[source]
        if not part.names:
            return self._read_first(connection, part)
        if part.is_expensive or self._clock() < self._apart_until:
            return self._read_alone(connection, part)
        if not self._is_answered(connection, source):
            try:
                self._read_combined(connection)
            except psycopg.Error as error:
                if connection.closed:
                    raise
                pause_s = PAUSE_S if isinstance(error, TOO_BUSY) else math.inf
                self._apart_until = self._clock() + pause_s
                return self._read_alone(connection, part)
        return {of: known(part.names, values) for of, values in self._answers.pop(source)}

    def _is_answered(self, connection: PostgresqlConnection, source: str) -> bool:
        is_fresh = self._clock() - self._answered_at < FRESH_S
        return is_fresh and connection is self._answered_by and source in self._answers

    def _read_combined(self, connection: PostgresqlConnection) -> None:
        parts = {
            source: part
            for source, part in self._parts.items()
            if part.names and not part.is_expensive
        }
        query = " union all ".join(part.as_rows_of(source) for source, part in parts.items())
        rows = execute(connection, query, *self._parameters(query)).rows()
        answers: dict[str, list[tuple[str, Sequence[float | None]]]] = {
            source: [] for source in parts
        }
        for source, of, values in rows:
            answers[source].append((of, values))
        self._answers = answers
        self._answered_by, self._answered_at = connection, self._clock()

    def _read_first(self, connection: PostgresqlConnection, part: _Part) -> dict[str, Numbers]:
        began_s = time.thread_time()
        numbers = self._read_alone(connection, part)
        part.is_expensive = time.thread_time() - began_s > EXPENSIVE_S
        return numbers

    def _read_alone(self, connection: PostgresqlConnection, part: _Part) -> dict[str, Numbers]:
        answer = execute(connection, part.query, *self._parameters(part.query))
        part.names = answer.names[1:]
        return {of: known(part.names, values) for of, *values in answer.rows()}

    def _parameters(self, query: str) -> list[bytes]:
        return [self._tables] if TABLES in query else []
