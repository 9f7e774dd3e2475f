"""Where a MySQL or MariaDB server runs, as far as a connection and this host can tell."""

from pathlib import Path

from dbdyno.databases.mysql.driver.connection import MysqlConnection

PROGRAMS = ("mariadbd", "mysqld")


def process_id(connection: MysqlConnection) -> int | None:
    """Return its process, if it runs on this host and in this container."""
    pid = connection.server_pid or _noted_pid(connection)
    return pid if pid is not None and _is_server(pid) else None


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
