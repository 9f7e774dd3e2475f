"""The folder of a private MariaDB or MySQL: its files, its socket, and when the server is ready."""

from collections.abc import Sequence

from dbdyno.databases.mysql.driver.login import Login
from dbdyno.databases.mysql.driver.url import login_url
from dbdyno.databases.mysql.server.binaries import base_folder
from dbdyno.databases.mysql.server.settings import configuration_text, quoted
from dbdyno.model.plan import Address, TcpAddress, UnixSocket
from dbdyno.servers.cluster import LOOPBACK, write_private
from dbdyno.servers.huge_pages import HugePages
from dbdyno.servers.product import Cluster

USER = "root"
FOLLOWER = "dbdyno_standby"
"""The account by which standbys read the binary log."""
DATABASE = "dbdyno"
COMPLAINT_SIGNS = ("[ERROR]", "ERROR:")
WAL_FOLDER = ""  # in the data folder itself
WAL_NAMES = ("ib_logfile*", "#innodb_redo")
SHAPING = (
    *("innodb_page_size", "innodb_data_file_path", "innodb_undo_tablespaces"),
    "lower_case_table_names",
)
HUGE_PAGES = HugePages("large_pages", "innodb_buffer_pool_size", bare_unit_bytes=1)


def socket_name(_port: int) -> str:
    """Return the socket's name, always the same: each server has its own folder."""
    return "mysql.sock"


def configure(cluster: Cluster) -> None:
    """Write the option file, and the statements that the server executes first."""
    write_private(cluster.folder / "first.sql", _first_statements(cluster))
    write_private(cluster.folder / "my.cnf", _configuration(cluster))


def _configuration(cluster: Cluster) -> str:
    placement = {
        "basedir": str(base_folder(cluster.blueprint.binaries)),
        "datadir": str(cluster.data),
        "socket": str(cluster.socket),
        "pid_file": str(cluster.folder / "pid"),
        "init_file": str(cluster.folder / "first.sql"),
        **_places(cluster),
        **_network(cluster),
        **_replication(cluster),
    }
    lines = [f"{name} = {quoted(value)}\n" for name, value in placement.items()]
    # Last, because the server also takes abbreviated names, and the last value counts.
    return "[mysqld]\n" + configuration_text(cluster.blueprint.settings) + "".join(lines)


def shaping_options(cluster: Cluster) -> list[str]:
    """Return the options that the installer needs so that the server can use its files."""
    blueprint = cluster.blueprint
    shape = blueprint.product.shape_of(blueprint.settings) | _places(cluster)
    return [f"--{name}={value}" for name, value in shape.items()]


def _places(cluster: Cluster) -> dict[str, str]:
    """Return folders of its own: in a shared tmpdir each start removes all servers' ``#sql*``."""
    log = {"innodb_log_group_home_dir": str(cluster.wal)} if cluster.wal else {}
    return {"tmpdir": str(cluster.folder), **log}


def _network(cluster: Cluster) -> dict[str, str]:
    if not cluster.port:
        return {"skip_networking": "ON"}
    return {"bind_address": LOOPBACK, "port": str(cluster.port)}


def _replication(cluster: Cluster) -> dict[str, str]:
    """Return what tells servers apart that follow each other."""
    blueprint = cluster.blueprint
    is_involved = blueprint.standbys or blueprint.primary
    return {"server_id": str(blueprint.number + 1)} if is_involved else {}


def _first_statements(cluster: Cluster) -> str:
    """Return SQL for a database to work in; over TCP, only accounts with a password.

    Each server executes it for itself: standbys do not read it.
    """
    blueprint = cluster.blueprint
    statements = [f"create database if not exists {DATABASE}"]
    if blueprint.standbys or blueprint.primary:
        statements.insert(0, "set sql_log_bin = 0")
    if cluster.port:
        statements.append(f"drop user if exists '{USER}'@'{LOOPBACK}', '{USER}'@'::1'")
    if blueprint.tcp:
        account = f"'{USER}'@'{LOOPBACK}'"
        statements += [
            f"create user {account} identified by '{cluster.password}'",
            f"grant all on *.* to {account} with grant option",
        ]
    if blueprint.standbys:
        account = f"'{FOLLOWER}'@'{LOOPBACK}'"
        statements += [
            f"drop user if exists {account}",
            f"create user {account} identified by '{cluster.password}'",
            f"grant replication slave on *.* to {account}",
        ]
    return "".join(f"{statement};\n" for statement in statements)


def target(cluster: Cluster) -> str:
    """Return its target, which ignores option files."""
    if cluster.blueprint.tcp:
        address = Address(tcp=TcpAddress(host=LOOPBACK, port=cluster.port))
    else:
        address = Address(unix=UnixSocket(path=str(cluster.socket)))
    password = cluster.password if cluster.blueprint.tcp else ""
    return login_url(
        Login(address=address, user=USER, password=password, database=DATABASE, tls="PREFERRED")
    )


def is_ready(cluster: Cluster, _pid: int) -> bool:
    """Whether the log reports readiness, which comes after the first statements."""
    return "ready for connections" in cluster.log.read_text(errors="replace")


def is_clean(cluster: Cluster) -> bool:
    """Whether its shutdown was complete."""
    return "Shutdown complete" in cluster.log.read_text(errors="replace")


def failure_reason(lines: Sequence[str]) -> str | None:
    """Return the first error: later ones are its consequences."""
    return next((line for line in lines if any(sign in line for sign in COMPLAINT_SIGNS)), None)
