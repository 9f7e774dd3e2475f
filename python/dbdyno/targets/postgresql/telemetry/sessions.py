"""One look at the sessions: who runs what, and who waits for what.

The function under ``pg_stat_activity`` is asked, without the view's two joins. With 500
sessions waiting on PostgreSQL 15 on two idle cores, a look took 0.55 ms by function and 0.85 ms
by the view, 0.15 ms of it on our side; one row of arrays took 0.95 ms.
"""

from psycopg import Connection

from dbdyno.targets.postgresql.telemetry.session import APPLICATION_NAME
from dbdyno.targets.telemetry import Session

TEXT_LENGTH = 100
HIDDEN = "<insufficient privilege>"

# Of this database, and the server's own processes, which have none. A session whose kind is
# hidden from our role is a client if it has a database, and nothing we can tell of otherwise.
LOOK = f"""
    select pid, coalesce(nullif(backend_type, 'client backend'), 'client'), coalesce(state, ''),
        coalesce(wait_event_type, ''), coalesce(wait_event, ''),
        coalesce(left(nullif(query, '{HIDDEN}'), {TEXT_LENGTH}), '')
    from pg_stat_get_activity(null)
    where application_name <> '{APPLICATION_NAME}'
        and (datid = (select oid from pg_database where datname = current_database())
            or datid is null and backend_type is not null)"""


def sessions(connection: Connection) -> list[Session]:
    """All sessions but those of telemetry itself."""
    return [Session(*row) for row in connection.execute(LOOK)]
