"""Databases, and connections of telemetry to them."""

from collections.abc import Callable, Iterator

import pytest
from psycopg import Connection

from dbdyno.databases.postgresql.over_postgresql import ADAPTER
from dbdyno.servers.base import Server

PLAIN = "plain"
# Telemetry gives up a query after a second. Tests want its answer, even if the host stalled for
# that long.
PATIENT = "set statement_timeout to '60s'"


@pytest.fixture
def any_database(any_server: Server, new_database: Callable[[Server], Server]) -> Server:
    """An empty database on each server in turn."""
    return new_database(any_server)


@pytest.fixture
def watcher(any_database: Server) -> Iterator[Connection]:
    """A connection of telemetry to it."""
    with any_database.connect() as connection:
        ADAPTER.telemetry.begin(connection)
        connection.execute(PATIENT)
        yield connection


@pytest.fixture
def worker(any_database: Server) -> Iterator[Connection]:
    """Another session there, which does the work."""
    with any_database.connect() as connection:
        yield connection


@pytest.fixture
def plain_watcher(any_database: Server) -> Iterator[Connection]:
    """Like ``watcher``, with a role without special privileges."""
    with any_database.connect() as connection:
        connection.execute(f"create role {PLAIN}")
        connection.execute(f"grant all on schema public to {PLAIN}")
        ADAPTER.telemetry.begin(connection)
        connection.execute(PATIENT)
        connection.execute(f"set role {PLAIN}")
        yield connection
        connection.execute("reset role")
        connection.execute("set default_transaction_read_only to off")
        connection.execute(f"drop owned by {PLAIN}")
        connection.execute(f"drop role {PLAIN}")
