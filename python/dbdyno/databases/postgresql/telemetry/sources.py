"""All counters of a PostgreSQL server, as far as server and role permit.

Each source is created and read once before it is offered. What fails becomes ``Missing`` with the
server's message and the privilege that would help.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias

import psycopg
from psycopg import errors

from dbdyno.databases.postgresql.describe import CAPABILITIES
from dbdyno.databases.postgresql.driver.connection import PostgresqlConnection
from dbdyno.databases.postgresql.telemetry import query_sources
from dbdyno.databases.postgresql.telemetry.combined_query import CombinedQuery
from dbdyno.databases.postgresql.telemetry.server_context import ServerContext, read_server_context
from dbdyno.databases.postgresql.telemetry.statements import statement_counters
from dbdyno.databases.postgresql.telemetry.views import OLD_CHECKPOINTER, VIEWS, View, view_source
from dbdyno.databases.telemetry import ScriptStatement, SourceUnavailableError
from dbdyno.model.source import Missing, Source

Maker: TypeAlias = Callable[
    [PostgresqlConnection, ServerContext, CombinedQuery], Source[PostgresqlConnection]
]


def sources(
    connection: PostgresqlConnection, statements: Sequence[ScriptStatement]
) -> tuple[list[Source[PostgresqlConnection]], list[Missing]]:
    """Return the available sources and the missing ones."""
    context = read_server_context(connection, statements)
    given: list[Source[PostgresqlConnection]] = []
    combined = CombinedQuery(context.tables)
    missing = list(_hidden(context))
    for name, make in _makers(context).items():
        made = _tried(connection, context, name, partial(make, connection, context, combined))
        if isinstance(made, Missing):
            missing.append(made)
        else:
            given.append(made)
    return given, missing


def _makers(context: ServerContext) -> dict[str, Maker]:
    old = context.version < CAPABILITIES[OLD_CHECKPOINTER.name]
    views = [*VIEWS, OLD_CHECKPOINTER] if old else VIEWS  # of several with one name the last counts
    makers: dict[str, Maker] = {view.name: partial(_view, view=view) for view in views}
    return makers | {
        "wal_position": query_sources.wal_position,
        "sizes": query_sources.sizes,
        "progress": query_sources.progress,
        "replication": query_sources.replication,
        "sessions": query_sources.sessions_in_sum,
        "pg_stat_statements": statement_counters,
    }


def _tried(
    connection: PostgresqlConnection,
    context: ServerContext,
    name: str,
    make: Callable[[], Source[PostgresqlConnection]],
) -> Source[PostgresqlConnection] | Missing:
    try:
        source = make()
        with suppress(errors.LockNotAvailable):  # it may be free at the next reading
            source.read(connection)
    except SourceUnavailableError as absent:
        return Missing(name, str(absent))
    except errors.InsufficientPrivilege as error:
        return Missing(name, f"{_message(error)}: {context.grant}")
    except psycopg.Error as error:
        return Missing(name, _message(error))
    except (TypeError, ValueError, LookupError) as error:
        return Missing(name, f"the server's answer is of another kind than expected: {error}")
    return source


def _view(
    connection: PostgresqlConnection, context: ServerContext, combined: CombinedQuery, view: View
) -> Source[PostgresqlConnection]:
    since = CAPABILITIES.get(view.relation, 0)
    if context.version < since:
        raise SourceUnavailableError(
            f"PostgreSQL has {view.relation} since version {since // 10_000}"
        )
    return view_source(connection, view, combined)


def _hidden(context: ServerContext) -> Iterator[Missing]:
    """Yield what is read, but incomplete."""
    if not context.sees_all:
        yield Missing(
            "sessions",
            "of sessions of other roles only the number is known, not what they do or wait for: "
            f"{context.grant}",
        )


def _message(error: psycopg.Error) -> str:
    return error.diag.message_primary or str(error).strip()
