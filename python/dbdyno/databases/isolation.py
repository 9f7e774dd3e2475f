"""Isolation levels: which ones a database has, how sessions get one, and which one is in force.

Sets nothing for a script that names a level itself when it begins its transactions.
"""

from contextlib import closing

from msgspec.structs import replace

from dbdyno.databases.connecting import driver_of
from dbdyno.databases.connection import Connection
from dbdyno.errors import DbdynoError
from dbdyno.model.database import Database
from dbdyno.model.plan import Endpoint, IsolationLevel
from dbdyno.model.record import IsolationRecord

IS_READ_ONLY = frozenset({"on", "1"})


def refuse_missing_level(level: IsolationLevel, database: Database) -> None:
    """Refuse a level that the database does not have, or takes for another one."""
    levels = database.isolation.levels
    if level in levels:
        return
    raise DbdynoError(
        "isolation",
        f"{database.title} has no isolation level {level}"
        if levels
        else f"dbdyno does not know the isolation levels of {database.title}",
        f"It has {', '.join(levels)}."
        if levels
        else "Leave --isolation out, and let the scripts begin their transactions at a level.",
    )


def at_level(
    endpoint: Endpoint, database: Database, level: IsolationLevel, *, only_reads: bool
) -> Endpoint:
    """Return the endpoint whose sessions run their transactions at this level.

    Those that only read are declared READ ONLY, also where each statement is one.
    """
    isolation, name = database.isolation, level.replace("-", " ")
    if endpoint.protocol == "postgresql":
        parameters = {isolation.level_parameter: name}
        if only_reads:
            parameters[isolation.read_only_parameter] = "on"
        return replace(endpoint, parameters={**endpoint.parameters, **parameters})
    statements = [isolation.level.format(level=name.upper())]
    if only_reads and isolation.read_only:
        statements.append(isolation.read_only)
    return replace(endpoint, session_statements=tuple(statements))


def in_force(
    connection: Connection, database: Database, requested: IsolationLevel | None = None
) -> IsolationRecord | None:
    """Ask which level the transactions of this session have; None if it cannot be asked."""
    if not database.isolation.in_force:
        return None
    level, is_read_only = connection.execute(database.isolation.in_force).fetchone()
    return IsolationRecord(
        level=str(level).lower().replace(" ", "-"),
        access_mode="read only" if str(is_read_only).lower() in IS_READ_ONLY else "read write",
        is_requested=requested is not None,
    )


def verified(
    target: str, endpoint: Endpoint, database: Database, level: IsolationLevel
) -> IsolationRecord:
    """Begin a session as the clients will, and return what it got; raise if that is not the level.

    ``target`` leads to the endpoint. A pooler may refuse a setting, or ignore it.
    """
    driver, isolation = driver_of(endpoint.protocol), database.isolation
    names = {isolation.level_parameter, isolation.read_only_parameter}
    settings = {name: value for name, value in endpoint.parameters.items() if name in names}
    try:
        with closing(driver.open(driver.with_settings(target, settings))) as session:
            for statement in endpoint.session_statements or ():
                session.execute(statement)
            found = in_force(session, database, level)
    except DbdynoError as error:
        raise _not_at(level, error.message) from error
    assert found  # a database whose levels are known can be asked
    if found.level != level:
        raise _not_at(level, f"the server says {found.level}")
    return found


def _not_at(level: IsolationLevel, why: str) -> DbdynoError:
    return DbdynoError(
        "isolation",
        f"sessions cannot be opened at {level}: {why}",
        "A pooler between dbdyno and the server (PgBouncer) gives sessions no settings of their "
        "own: connect to the server itself, give the role the level (alter role NAME set "
        "default_transaction_isolation = …), or let the scripts begin their transactions at it.",
    )
