"""Where a PostgreSQL server runs, as far as a connection to it and this machine can tell."""

from pathlib import Path

from psycopg import Connection, errors

from dbdyno.servers.processes import parent_of


def process_id(connection: Connection) -> int | None:
    """Its first process, when it runs on this machine and in this container."""
    backend = connection.info.backend_pid
    try:
        words = Path(f"/proc/{backend}/cmdline").read_text()
    except OSError:
        return None
    # Another host's process number may by chance exist here: the title names our session.
    return parent_of(backend) if "postgres" in words and connection.info.dbname in words else None


def data_directory(connection: Connection) -> Path | None:
    """Its data folder, when our user may know it and it is on this machine.

    Another machine's server may name a folder that by chance exists here.
    """
    if process_id(connection) is None:
        return None
    try:
        row = connection.execute("select current_setting('data_directory')").fetchone()
    except errors.InsufficientPrivilege:
        return None
    folder = Path(row[0]) if row else None
    return folder if folder and folder.exists() else None
