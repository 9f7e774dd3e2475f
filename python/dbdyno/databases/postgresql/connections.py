"""How many more clients the server admits."""

from psycopg import Connection

from dbdyno.databases.adapter import FreeConnections

# Connections reserved for superusers are left to them, even if we are one. A session whose type is
# hidden from our role is a client if it has a database. Limits of a role or a database are not for
# superusers.
LIMITS = """
    with session as (
        select datid, usesysid from pg_stat_get_activity(null)
        where pid <> pg_backend_pid()
            and coalesce(backend_type = 'client backend', datid is not null)
    ),
    place as (
        select d.oid as database, datconnlimit, r.oid as role, rolconnlimit, rolsuper
        from pg_database d, pg_roles r
        where datname = current_database() and rolname = session_user
    )
    select 'max_connections', current_setting('max_connections')::int,
        current_setting('superuser_reserved_connections')::int
            + coalesce(current_setting('reserved_connections', true)::int, 0),
        (select count(*) from session)
    union all
    select 'the role''s CONNECTION LIMIT', rolconnlimit, 0,
        (select count(*) from session where usesysid = role)
    from place where rolconnlimit >= 0 and not rolsuper
    union all
    select 'the database''s CONNECTION LIMIT', datconnlimit, 0,
        (select count(*) from session where datid = database)
    from place where datconnlimit >= 0 and not rolsuper"""


def free_connections(connection: Connection) -> FreeConnections:
    """Return the free connections besides this one, which stays open during the run."""
    limits = connection.execute(LIMITS).fetchall()
    limit, admitted, reserved, taken = min(limits, key=lambda row: row[1] - row[2] - row[3])
    spare = f"{reserved} reserved, " if reserved else ""
    restart = " and restart the server" if limit == "max_connections" else ""
    return FreeConnections(
        count=admitted - reserved - taken - 1,
        reason=f"{limit} {admitted}, {spare}{taken} in use and one by us",
        hint=f"Raise {limit}{restart}, or use fewer clients.",
    )
