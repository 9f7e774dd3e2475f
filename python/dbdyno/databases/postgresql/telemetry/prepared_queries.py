"""Sends the same few queries to a server again and again, at the lowest cost.

It uses libpq's own call for a prepared statement, which returns the whole result: a cursor of the
driver took our side three to five times as long for each query, and telemetry sends many. Each is
prepared once per connection. Behind a pooler nothing is prepared: a session keeps it for its next
users, under a name by which the next run would ask something else. Knows nothing of the queries'
content, and reopens nothing.
"""

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from psycopg import errors
from psycopg.adapt import Transformer
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

from dbdyno.databases.postgresql.driver.connection import PostgresqlConnection
from dbdyno.model.source import Numbers

_numbers = count()
"""Never reused: a name that we have forgotten may still be known to the server."""


class Answer:
    """The server's result; its rows are decoded when they are needed."""

    def __init__(self, connection: PostgresqlConnection, result: PGresult) -> None:
        self._result = result
        self._loader = Transformer(connection)
        self._loader.set_pgresult(result)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        places = range(self._result.nfields)
        return [(self._result.fname(place) or b"").decode() for place in places]

    def rows(self) -> list[tuple[Any, ...]]:
        """Return all rows."""
        return self._loader.load_rows(0, self._result.ntuples, tuple)


def execute(connection: PostgresqlConnection, query: str, *parameters: bytes) -> Answer:
    """Return the result of a query; ``parameters`` are text for ``$1`` and so on."""
    if connection.is_lent:
        result = connection.pgconn.exec_params(
            query.encode(), parameters, result_format=Format.BINARY
        )
        return _answer(connection, result)
    try:
        return _from_prepared(connection, query, parameters)
    except errors.InvalidSqlStatementName:
        # Somebody has emptied the session, or a pooler that does not show has lent us another one.
        connection.prepared.clear()
        return _from_prepared(connection, query, parameters)


def _from_prepared(
    connection: PostgresqlConnection, query: str, parameters: Sequence[bytes]
) -> Answer:
    if query not in connection.prepared:
        name = b"dbdyno_%d" % next(_numbers)
        result = connection.pgconn.prepare(name, query.encode())
        _check(connection, result, ExecStatus.COMMAND_OK)
        connection.prepared[query] = name
    name = connection.prepared[query]
    result = connection.pgconn.exec_prepared(name, parameters, result_format=Format.BINARY)
    return _answer(connection, result)


def _answer(connection: PostgresqlConnection, result: PGresult) -> Answer:
    _check(connection, result, ExecStatus.TUPLES_OK)
    return Answer(connection, result)


def execute_numbers(
    connection: PostgresqlConnection, query: str, *parameters: bytes
) -> dict[str, Numbers]:
    """Return the numbers of a query whose first column is the object."""
    answer = execute(connection, query, *parameters)
    names = answer.names[1:]
    return {of: known(names, values) for of, *values in answer.rows()}


def known(names: Sequence[str], values: Sequence[float | None]) -> Numbers:
    """Return the numbers of one object; NULLs are left out."""
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def array_of(values: Iterable[object]) -> bytes:
    """Return a parameter with an array of numbers or plain words."""
    return "{{{}}}".format(",".join(f'"{value}"' for value in values)).encode()


def _check(connection: PostgresqlConnection, result: PGresult, wanted: ExecStatus) -> None:
    if result.status != wanted:
        raise errors.error_from_result(result, connection.info.encoding)
