"""A server that is there already. It is looked at and used, never started, stopped or set."""

from pathlib import Path

import psycopg
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dbdyno.servers.base import Server
from dbdyno.servers.connecting import endpoint_of, open_connection
from dbdyno.servers.processes import parent_of


def use_existing(target: str = "") -> Server:
    """The server at ``target``: a URL, a conninfo string, or empty for libpq's environment."""
    with open_connection(target) as connection:
        return Server(
            kind="existing",
            conninfo=_pinned(target, connection),
            resolved=endpoint_of(connection),
            process_id=_process_id(connection),
            data_directory=_data_directory(connection),
        )


def _pinned(target: str, connection: Connection) -> str:
    """The target narrowed to the one host that answered, should it name several."""
    info = connection.info
    address = {"hostaddr": info.hostaddr} if conninfo_to_dict(target).get("hostaddr") else {}
    return make_conninfo(target, host=info.host, port=info.port, **address)


def _process_id(connection: Connection) -> int | None:
    """Its first process, when it runs on this machine and in this container."""
    backend = connection.info.backend_pid
    try:
        words = Path(f"/proc/{backend}/cmdline").read_text()
    except OSError:
        return None
    # Another host's process number may by chance exist here: the title names our session.
    return parent_of(backend) if "postgres" in words and connection.info.dbname in words else None


def _data_directory(connection: Connection) -> Path | None:
    """Its data folder, when our user may know it and it is on this machine."""
    try:
        row = connection.execute("select current_setting('data_directory')").fetchone()
    except psycopg.errors.InsufficientPrivilege:
        return None
    folder = Path(row[0]) if row else None
    return folder if folder and folder.exists() else None
