"""Asks a server which database it is: its address and its protocol do not tell.

Databases that speak another's protocol often say that they are the other, so that its drivers work
with them. What a server says is therefore not believed alone: the ``witness`` of a database is
something that its imitators lack.
"""

import re
from collections.abc import Callable

from dbdyno.databases.adapters import native_adapter
from dbdyno.databases.connecting import driver_of
from dbdyno.databases.connection import Connection
from dbdyno.databases.known import UNKNOWN, all_databases, lineage
from dbdyno.model.database import Database
from dbdyno.model.plan import Protocol

# Some drivers return text.
_FALSE = ("", "0", "f", "false", "none")


def identify(protocol: Protocol, connection: Connection) -> Database:
    """Return the database at the other end; the most special one if several fit.

    A connection that breaks meanwhile is an error, since it tells nothing about the database.
    """
    with native_adapter(protocol).understood("ask which database it is"):
        return _identified(protocol, connection)


def _identified(protocol: Protocol, connection: Connection) -> Database:
    says = _answer(connection, lambda: driver_of(protocol).says(connection))
    fitting = [
        database
        for database in all_databases().values()
        if database.says
        and re.search(database.says, says)
        and (not database.witness or _is_true(connection, database.witness))
    ]
    return max(fitting, key=lambda one: len(lineage(one)), default=all_databases()[UNKNOWN])


def _is_true(connection: Connection, query: str) -> bool:
    answer = _answer(connection, lambda: connection.execute(query).fetchone()[0])
    return answer.lower() not in _FALSE


def _answer(connection: Connection, ask: Callable[[], object]) -> str:
    """Return the answer as text; empty if the server does not understand the question."""
    try:
        return str(ask())
    except Exception:  # whatever its driver makes of a refusal
        if connection.closed:
            raise
        return ""
