"""Session samples: which session runs what, and what it waits for.

The function behind ``pg_stat_activity`` is called, without the view's two joins. Sessions that are
alike are returned as one row: grouping them costs the server as much as sending each, and saves us
the work for each.
"""

from collections.abc import Sequence

from dbdyno.databases.postgresql.telemetry.session import APPLICATION_NAME
from dbdyno.databases.telemetry import Sessions

TEXT_LENGTH = 100
HIDDEN = "<insufficient privilege>"

# Sessions of this database, and the server's own processes, which have no database.
SESSIONS = f"""
    select array_agg(pid) as pids, backend_type, state, wait_event_type, wait_event, query
    from pg_stat_get_activity(null)
    where application_name <> '{APPLICATION_NAME}'
        and (datid = (select oid from pg_database where datname = current_database())
            or datid is null and backend_type is not null)
    group by backend_type, state, wait_event_type, wait_event, query"""
SESSION_FIELDS = f"""array[
        backend_type, state, wait_event_type, wait_event, left(query, {TEXT_LENGTH})]"""
LOCK_WAIT = "Lock"
SOMEBODY_WAITS = f"exists (select from session where wait_event_type = '{LOCK_WAIT}')"


def sessions_of(pids: Sequence[int], fields: Sequence[str | None]) -> Sessions:
    """Return the sessions of one row.

    A session whose type is hidden from our role is a client, since it has a database.
    """
    kind, state, wait_type, wait_event, text = (field or "" for field in fields)
    return Sessions(
        pids,
        "client" if kind in {"", "client backend"} else kind,
        state,
        wait_type,
        wait_event,
        "" if text == HIDDEN else text,
    )
