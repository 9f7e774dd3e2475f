"""Where a MySQL or MariaDB server runs, as far as a connection and this machine can tell."""

from pathlib import Path

from dbdyno.model.plan import is_loopback
from dbdyno.servers.mysql.connection import MysqlConnection

PROGRAMS = ("mariadbd", "mysqld")


def process_id(connection: MysqlConnection) -> int | None:
    """Its process, when it runs on this machine and in this container."""
    pid = connection.server_pid or _noted_pid(connection)
    return pid if pid is not None and _is_server(pid) else None


def data_directory(connection: MysqlConnection) -> Path | None:
    """Its data folder, when it is on this machine and open to us."""
    if process_id(connection) is None:
        return None
    folder = Path(_variable(connection, "datadir"))
    return folder if folder.exists() else None


def _noted_pid(connection: MysqlConnection) -> int | None:
    """What its own file says, for a server that is reached over loopback."""
    tcp = connection.login.address.tcp
    if not tcp or not is_loopback(tcp.host):
        return None
    try:
        word = Path(_variable(connection, "datadir"), _variable(connection, "pid_file")).read_text()
    except OSError:
        return None
    return int(word) if word.strip().isdecimal() else None


def _is_server(pid: int) -> bool:
    """Another machine's process number may by chance exist here."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() in PROGRAMS
    except OSError:
        return False


def _variable(connection: MysqlConnection, name: str) -> str:
    row = connection.execute(f"select @@{name}").fetchone()
    assert row is not None  # a select of one value gives one row
    return str(row[0])
