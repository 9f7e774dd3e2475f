"""Where a PostgreSQL server runs, as far as a connection to it and this host can tell."""

from pathlib import Path

from psycopg import Connection, errors


def process_id(connection: Connection) -> int | None:
    """Return its postmaster, if it runs on this host and in this container."""
    backend = connection.info.backend_pid
    try:
        command_line = Path(f"/proc/{backend}/cmdline").read_text()
    except OSError:
        return None
    # A PID of another host may exist here by chance: the process title must name our session.
    return (
        parent_of(backend)
        if "postgres" in command_line and connection.info.dbname in command_line
        else None
    )


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
