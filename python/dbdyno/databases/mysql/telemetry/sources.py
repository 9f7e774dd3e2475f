"""All counters of a MariaDB or MySQL server, as far as server and user permit.

Each source is created and read once before it is offered. What fails becomes ``Missing`` with the
server's message.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import pymysql

from dbdyno.databases.connection import Connection
from dbdyno.databases.mysql.telemetry import query_sources
from dbdyno.databases.mysql.telemetry.redo import wal_position
from dbdyno.databases.mysql.telemetry.server_context import PROCESS, ServerContext, server_context
from dbdyno.databases.mysql.telemetry.status import global_status
from dbdyno.databases.telemetry import ScriptStatement, SourceUnavailableError
from dbdyno.model.source import Missing, Source

Maker: TypeAlias = Callable[[Connection, ServerContext], Source[Connection]]


def sources(
    connection: Connection, statements: Sequence[ScriptStatement]
) -> tuple[list[Source[Connection]], list[Missing]]:
    """Return the available sources and the missing ones."""
    context = server_context(connection)
    given: list[Source[Connection]] = []
    missing = list(_hidden(context))
    for name, make in _makers(statements).items():
        made = _tried(connection, context, name, make)
        if isinstance(made, Missing):
            missing.append(made)
        else:
            given.append(made)
    return given, missing


def _makers(statements: Sequence[ScriptStatement]) -> dict[str, Maker]:
    return {
        "global_status": global_status,
        "wal_position": wal_position,
        "innodb_metrics": query_sources.metrics,
        "file_io": query_sources.files,
        "sizes": partial(query_sources.sizes, statements=statements),
        "replication": query_sources.replication,
        "sessions": query_sources.sessions_in_sum,
    }


def _tried(
    connection: Connection, context: ServerContext, name: str, make: Maker
) -> Source[Connection] | Missing:
    try:
        source = make(connection, context)
        source.read(connection)
    except SourceUnavailableError as absent:
        return Missing(name, str(absent))
    except pymysql.Error as error:
        if connection.closed:
            raise
        return Missing(name, _message(error))
    except (TypeError, ValueError, LookupError) as error:
        return Missing(name, f"the server's answer is of another kind than expected: {error}")
    return source


def _hidden(context: ServerContext) -> Iterator[Missing]:
    """Yield what is read, but incomplete."""
    if not context.sees_all:
        yield Missing("sessions", context.hidden)


def _message(error: pymysql.Error) -> str:
    text = error.args[1] if len(error.args) > 1 else ""
    return f"{text}: {PROCESS}" if "PROCESS" in str(text) else str(text)
