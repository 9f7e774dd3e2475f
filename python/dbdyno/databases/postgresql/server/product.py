"""A private PostgreSQL: its folder's files, its commands, and when it is ready."""

import locale
import signal
import sys
from collections.abc import Sequence

from psycopg import conninfo

from dbdyno.databases.postgresql.database import DATABASE
from dbdyno.databases.postgresql.server import shared_memory
from dbdyno.databases.postgresql.server.binaries import catalog_of, find_binaries
from dbdyno.databases.postgresql.server.replication import REPLICATION
from dbdyno.databases.postgresql.server.settings import (
    check_settings,
    choose_settings,
    configuration_text,
    quoted,
)
from dbdyno.databases.postgresql.server.warming import warm
from dbdyno.servers.cluster import LOOPBACK, write_private
from dbdyno.servers.huge_pages import HugePages
from dbdyno.servers.product import Cluster, Product

USER = "postgres"
UNIX_PORT = 5432  # only part of the socket's name: each server has its own folder
BLOCK_BYTES = 8192
COMPLAINT_SIGNS = ("FATAL:", "PANIC:", "error:", "ERROR:")
STATUS_LINE = 7  # in postmaster.pid, counted from 0
# Where pg_control stores the state of the data, in all versions, and the state after a shutdown.
STATE_OFFSET = 16
SHUT_DOWN = 1
# With these settings it writes no WAL for tables that are created and filled in one transaction.
WITHOUT_LOG = {"wal_level": "minimal", "max_wal_senders": "0"}


def _port(cluster: Cluster) -> int:
    return cluster.port or UNIX_PORT


def _socket_name(port: int) -> str:
    return f".s.PGSQL.{port or UNIX_PORT}"


def _configure(cluster: Cluster) -> None:
    write_private(cluster.folder / "password", cluster.password)
    write_private(cluster.folder / "postgresql.conf", _configuration(cluster))


def _configuration(cluster: Cluster) -> str:
    """Return the configuration: initdb's file before dbdyno's, since the last setting applies."""
    placement = {
        "unix_socket_directories": str(cluster.socket_folder),
        "unix_socket_permissions": "0700",
        "listen_addresses": LOOPBACK if cluster.blueprint.tcp else "",
        "port": str(_port(cluster)),
    }
    if cluster.blueprint.primary:  # by this name the primary lists it
        placement["cluster_name"] = cluster.folder.name
    lines = [f"{name} = {quoted(value)}\n" for name, value in placement.items()]
    included = f"include {quoted(str(cluster.data / 'postgresql.conf'))}\n"
    return included + configuration_text(cluster.blueprint.settings) + "".join(lines)


def _commands(cluster: Cluster) -> list[list[object]]:
    """Return the commands of initdb and of the server; a standby is a copy of its primary."""
    binaries = cluster.blueprint.binaries
    initdb = [
        *(binaries.installer, "--pgdata", cluster.data, "--username", USER),
        *("--encoding", "UTF8", "--locale", _locale(), "--no-sync"),
        *("--auth-local", "trust", "--auth-host", "scram-sha-256"),
        *("--pwfile", cluster.folder / "password"),
        *(["--waldir", cluster.wal] if cluster.wal else []),
    ]
    primary = cluster.blueprint.primary
    copy = [
        *(binaries.folder / "pg_basebackup", "--pgdata", cluster.data, "--no-sync"),
        *("--dbname", primary.target if primary else ""),
        *("--checkpoint", "fast", "--write-recovery-conf"),
        *(["--waldir", cluster.wal] if cluster.wal else []),
    ]
    configuration = f"config_file={cluster.folder / 'postgresql.conf'}"
    installer = copy if primary else initdb
    return [installer, [binaries.server, "-D", cluster.data, "-c", configuration]]


def _target(cluster: Cluster) -> str:
    tcp = cluster.blueprint.tcp
    return conninfo.make_conninfo(
        host=LOOPBACK if tcp else str(cluster.socket_folder),
        port=_port(cluster),
        user=USER,
        dbname="postgres",
        password=cluster.password if tcp else None,
    )


def _is_ready(cluster: Cluster, pid: int) -> bool:
    """Whether the state in postmaster.pid is ready; a leftover file names another process."""
    try:
        lines = (cluster.data / "postmaster.pid").read_text().splitlines()
    except OSError:
        return False
    return (
        len(lines) > STATUS_LINE and lines[0] == str(pid) and lines[STATUS_LINE].strip() == "ready"
    )


def _is_clean(cluster: Cluster) -> bool:
    """Whether pg_control reports a shutdown; the exit code is 0 after a crash, too."""
    with (cluster.data / "global" / "pg_control").open("rb") as control:
        control.seek(STATE_OFFSET)
        return int.from_bytes(control.read(4), sys.byteorder) == SHUT_DOWN


def _failure_reason(lines: Sequence[str]) -> str | None:
    """Return the last error, after which the server gave up."""
    complaints = [line for line in lines if any(sign in line for sign in COMPLAINT_SIGNS)]
    return complaints[-1] if complaints else None


def _locale() -> str:
    """Return a locale that orders by code point, on hosts with and without UTF-8 locales."""
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        return locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    except locale.Error:
        return "C"
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


PRODUCT = Product(
    name="postgres",
    title="PostgreSQL",
    database=DATABASE,
    stop_signal=signal.SIGQUIT,
    clean_signal=signal.SIGINT,
    wal_folder="pg_wal",
    wal_names=("*",),
    shaping=(),
    loading=lambda _settings: WITHOUT_LOG,
    format_of=catalog_of,
    huge_pages=HugePages("huge_pages", "shared_buffers", bare_unit_bytes=BLOCK_BYTES),
    find=find_binaries,
    settings=choose_settings,
    check=check_settings,
    socket_name=_socket_name,
    configure=_configure,
    commands=_commands,
    target=_target,
    is_ready=_is_ready,
    is_clean=_is_clean,
    failure_reason=_failure_reason,
    warm=warm,
    releaser=shared_memory.__file__,
    replication=REPLICATION,
)
