"""What lies between a connection and a PostgreSQL server: a pooler announces its own sessions."""

from functools import partial

import psycopg
from psycopg import conninfo
from psycopg.pq import ExecStatus

from dbdyno.databases.intermediary import (
    PATIENCE_S,
    UNIX_SOCKET,
    Ends,
    Place,
    between,
    end_of,
    program_at,
    with_mode,
    with_product,
)
from dbdyno.databases.postgresql.driver.connecting import open_connection
from dbdyno.databases.postgresql.driver.connection import PostgresqlConnection, serving_process
from dbdyno.model.record import IntermediaryRecord

_CLIENT = "select host(inet_client_addr()), inet_client_port()"
_PREPARED = b"dbdyno_trial"
_ROUNDS = 4
_CONSOLE = "pgbouncer"
"""The database by which PgBouncer, and what imitates it, shows itself to those who may ask."""
_NUMBER_MAX = 0xFFFFFFFF


def intermediary(target: str, connection: PostgresqlConnection) -> IntermediaryRecord | None:
    """Return what lies between the connection, which ``target`` leads to, and its server."""
    ends = Ends(
        announced=connection.info.backend_pid & _NUMBER_MAX,
        serving=_serving(connection),
        client=_client(connection),
    )
    found = between(ends, end_of(connection))
    if found is None or found.kind == "proxy":
        return found and with_product(found, program_at(connection))
    found = with_product(found, _console_says(target) or program_at(connection))
    return with_mode(found, connection, partial(open_connection, target), _serving, _keeps_prepared)


def _serving(connection: PostgresqlConnection) -> int:
    return serving_process(connection) & _NUMBER_MAX


def _client(connection: PostgresqlConnection) -> Place | None:
    """Return where the server sees us; None if it does not know."""
    try:
        row = connection.execute(_CLIENT).fetchone()
    except psycopg.Error:  # a server that only speaks the protocol
        if connection.closed:
            raise
        return None
    if row == (None, None):
        return UNIX_SOCKET
    return Place(*row) if row and all(row) else None


def _keeps_prepared(first: PostgresqlConnection, second: PostgresqlConnection) -> bool:
    """Whether both connections, which share sessions, find the statements that they prepare.

    They have the same name and different texts. What a pooler that knows of none leaves in its
    sessions is deallocated there.
    """
    pair = (first.pgconn, b"select 1"), (second.pgconn, b"select 2")
    try:
        for wire, query in pair:
            if wire.prepare(_PREPARED, query).status != ExecStatus.COMMAND_OK:
                return False
        for _ in range(_ROUNDS):
            for wire, query in pair:
                result = wire.exec_prepared(_PREPARED, None)
                is_found = result.status == ExecStatus.TUPLES_OK
                if not is_found or result.get_value(0, 0) != query[-1:]:
                    return False
        return True
    finally:
        for wire, _ in pair * _ROUNDS:
            wire.exec_(b"deallocate " + _PREPARED)


def _console_says(target: str) -> str:
    """Return what a pooler's console says that it is; empty if it has none for this user."""
    console = conninfo.make_conninfo(target, dbname=_CONSOLE, connect_timeout=int(PATIENCE_S))
    try:
        with psycopg.connect(console, autocommit=True) as connection:
            result = connection.pgconn.exec_(b"show version")
            if result.status != ExecStatus.TUPLES_OK:
                return ""
            said = (result.get_value(0, 0) or b"").decode(errors="replace")
    except psycopg.Error:
        return ""
    # A server with a database of this name has no such setting, and none has two words.
    return " ".join(said.split()[:2])
