"""Where a PostgreSQL server runs, as far as a connection to it and this host can tell."""

from pathlib import Path

from psycopg import Connection, errors

from dbdyno.databases.local_process import is_of_age
from dbdyno.databases.postgresql.driver.connection import serving_process

_BEGAN = """
select extract(epoch from clock_timestamp() - backend_start)::float8
  from pg_stat_activity where pid = pg_backend_pid()
"""
_TOLERANCE_S = 1.0


def process_id(connection: Connection) -> int | None:
    """Return its postmaster, if it runs on this host and in this container."""
    backend = serving_process(connection)
    try:
        command_line = Path(f"/proc/{backend}/cmdline").read_text()
    except OSError:
        return None
    # A PID of another host may exist here by chance: it must be our session.
    is_like_ours = "postgres" in command_line and connection.info.dbname in command_line
    return parent_of(backend) if is_like_ours and _is_ours(connection, backend) else None


def _is_ours(connection: Connection, backend: int) -> bool:
    row = connection.execute(_BEGAN).fetchone()
    return row is not None and is_of_age(backend, row[0], _TOLERANCE_S)


def parent_of(pid: int) -> int | None:
    """Return the parent process of ``pid``; None if it is not visible from here."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]) or None


def data_directory(connection: Connection) -> Path | None:
    """Return its data folder, if our user may read the setting and it is on this host.

    A server on another host may name a folder that exists here by chance.
    """
    if process_id(connection) is None:
        return None
    try:
        row = connection.execute("select current_setting('data_directory')").fetchone()
    except errors.InsufficientPrivilege:
        return None
    folder = Path(row[0]) if row else None
    return folder if folder and folder.exists() else None
