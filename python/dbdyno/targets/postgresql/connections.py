"""How many more clients the server admits."""

from psycopg import Connection

from dbdyno.targets.base import FreeConnections

# Connections reserved for superusers are left to them, even if we are one. A session whose type is
# hidden from our role is a client if it has a database.
LIMITS = """
    select current_setting('max_connections')::int,
        current_setting('superuser_reserved_connections')::int
            + coalesce(current_setting('reserved_connections', true)::int, 0),
        (select count(*) from pg_stat_get_activity(null)
            where pid <> pg_backend_pid()
                and coalesce(backend_type = 'client backend', datid is not null))"""


def free_connections(connection: Connection) -> FreeConnections:
    """Return the free connections besides this one, which stays open during the run."""
    row = connection.execute(LIMITS).fetchone()
    assert row is not None  # a select of three values returns one row
    admitted, reserved, taken = row
    return FreeConnections(
        count=admitted - reserved - taken - 1,
        reason=f"max_connections {admitted}, {reserved} reserved, {taken} in use and one by us",
        hint="Raise max_connections and restart the server, or use fewer clients.",
    )
