"""Where a MySQL or MariaDB server runs, as far as a connection and this host can tell."""

from pathlib import Path

from dbdyno.databases.local_process import is_in_our_numbering, is_of_age
from dbdyno.databases.mysql.driver.connection import MysqlConnection

PROGRAMS = ("mariadbd", "mysqld")


_TOLERANCE_S = 10.0
"""The server counts from when it has read its options, in whole seconds."""


def process_id(connection: MysqlConnection) -> int | None:
    """Return its process, if it runs on this host and in this container."""
    if pid := connection.server_pid:
        return pid if _is_server(pid) and is_in_our_numbering(pid) else None
    noted = _noted_pid(connection)
    return noted if noted and _is_server(noted) and _is_of_age(connection, noted) else None


def _is_of_age(connection: MysqlConnection, pid: int) -> bool:
    row = connection.execute("show global status like 'Uptime'").fetchone()
    return row is not None and is_of_age(pid, float(row[1]), _TOLERANCE_S)


def data_directory(connection: MysqlConnection) -> Path | None:
    """Return its data folder, if it is on this host and accessible."""
    if process_id(connection) is None:
        return None
    folder = Path(_variable(connection, "datadir"))
    return folder if folder.exists() else None


def _noted_pid(connection: MysqlConnection) -> int | None:
    """Return the PID from the server's own file, for a server reached over loopback."""
    if not connection.address.is_on_this_host:
        return None
    try:
        word = Path(_variable(connection, "datadir"), _variable(connection, "pid_file")).read_text()
    except OSError:
        return None
    return int(word) if word.strip().isdecimal() else None


def _is_server(pid: int) -> bool:
    """Whether the process is a server: a PID of another host may exist here by chance."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() in PROGRAMS
    except OSError:
        return False


def _variable(connection: MysqlConnection, name: str) -> str:
    row = connection.execute(f"select @@{name}").fetchone()
    assert row is not None  # a select of one value returns one row
    return str(row[0])
