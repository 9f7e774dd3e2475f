"""A data folder of our own and the commands around it. Starts nothing itself.

All of it lies in one folder: data, configuration, log, and the socket unless the path would be
too long for one. Reached over the Unix socket by its owner alone; loopback TCP, when asked for,
needs a password, since every user of the machine can reach that.
"""

import locale
import secrets
import shutil
import socket
import tempfile
from pathlib import Path

from msgspec import Struct
from psycopg import conninfo

from dbdyno.errors import DbdynoError
from dbdyno.servers.binaries import Binaries, find_binaries
from dbdyno.servers.places import place_for
from dbdyno.servers.privileges import Identity, server_identity
from dbdyno.servers.settings import (
    Setting,
    check_settings,
    choose_settings,
    configuration_text,
    quoted,
    this_machine,
)
from dbdyno.servers.spec import ServerSpec

USER = "postgres"
SOCKET_PATH_MAX = 107  # bytes of sockaddr_un.sun_path, less the closing zero
UNIX_PORT = 5432  # only a part of the socket's name: each server has a folder to itself
LOOPBACK = "127.0.0.1"


class Blueprint(Struct, frozen=True):
    """What a private server is to be: found and checked before anything is made."""

    place: Path
    binaries: Binaries
    settings: tuple[Setting, ...]
    tcp: bool
    identity: Identity


def draw_blueprint(kind: str, spec: ServerSpec, connections: int, *, tcp: bool) -> Blueprint:
    """Finds the programs and settles the settings; any error leaves nothing behind."""
    identity = server_identity()
    place = place_for(kind, identity)
    binaries = find_binaries(spec)
    settings = choose_settings(this_machine(place), connections, spec.settings)
    check_settings(binaries.postgres, settings)
    return Blueprint(place=place, binaries=binaries, settings=settings, tcp=tcp, identity=identity)


class Cluster(Struct, frozen=True):
    """One server's folder, laid out and configured."""

    folder: Path
    socket_folder: Path
    port: int
    password: str | None
    blueprint: Blueprint

    @property
    def data(self) -> Path:
        """PostgreSQL's own folder."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """What initdb and the server print."""
        return self.folder / "log.txt"

    @property
    def folders(self) -> list[Path]:
        """All that goes when the server goes."""
        return list(dict.fromkeys([self.folder, self.socket_folder]))

    @property
    def conninfo(self) -> str:
        """How libpq reaches it. Holds the password, if there is one."""
        host = LOOPBACK if self.blueprint.tcp else str(self.socket_folder)
        return conninfo.make_conninfo(
            host=host, port=self.port, user=USER, dbname="postgres", password=self.password
        )

    def commands(self) -> list[list[str]]:
        """initdb, then the server."""
        initdb = [
            *(self.blueprint.binaries.initdb, "--pgdata", self.data, "--username", USER),
            *("--encoding", "UTF8", "--locale", _locale(), "--no-sync"),
            *("--auth-local", "trust", "--auth-host", "scram-sha-256"),
            *("--pwfile", self.folder / "password"),
        ]
        configuration = f"config_file={self.folder / 'postgresql.conf'}"
        server = [self.blueprint.binaries.postgres, "-D", self.data, "-c", configuration]
        command = self.blueprint.identity.command
        return [command(*initdb), command(*server)]


def lay_out(folder: Path, blueprint: Blueprint) -> Cluster:
    """Writes the configuration into an empty folder; the server itself is not made yet."""
    password = secrets.token_urlsafe(18)
    cluster = Cluster(
        folder=folder,
        socket_folder=_socket_folder(folder),
        port=_free_port() if blueprint.tcp else UNIX_PORT,
        password=password if blueprint.tcp else None,
        blueprint=blueprint,
    )
    _write_private(folder / "password", password)
    _write_private(folder / "postgresql.conf", _configuration(cluster))
    cluster.log.touch(0o600)
    blueprint.identity.take_over(*cluster.folders)
    return cluster


def remove(folders: list[Path]) -> None:
    """Removes what is left of a server."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def failure_reason(log: Path) -> str:
    """The reason in the server's own words: its last complaint, else its last line."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    signs = ("FATAL:", "PANIC:", "error:", "ERROR:")
    complaints = [line for line in lines if any(sign in line for sign in signs)]
    return (complaints or lines or ["it left no word in its log"])[-1]


def not_started(cluster: Cluster) -> DbdynoError:
    """The error for a server that ended before it was ready."""
    return DbdynoError(
        "server_failed",
        f"PostgreSQL {cluster.blueprint.binaries.version} did not start: "
        f"{failure_reason(cluster.log)}",
        "the reason above is from the server's own log",
    )


def _configuration(cluster: Cluster) -> str:
    """Initdb's file first, then ours: the last word on a setting wins."""
    placement = {
        "unix_socket_directories": str(cluster.socket_folder),
        "unix_socket_permissions": "0700",
        "listen_addresses": LOOPBACK if cluster.blueprint.tcp else "",
        "port": str(cluster.port),
    }
    lines = [f"{name} = {quoted(value)}\n" for name, value in placement.items()]
    included = f"include {quoted(str(cluster.data / 'postgresql.conf'))}\n"
    return included + configuration_text(cluster.blueprint.settings) + "".join(lines)


def _write_private(path: Path, text: str) -> None:
    path.touch(0o600)
    path.write_text(text)


def _socket_folder(folder: Path) -> Path:
    """The folder itself, or a short one when a socket's path in it would be too long."""
    longest = f"{folder}/.s.PGSQL.65535"
    if len(longest.encode()) <= SOCKET_PATH_MAX:
        return folder
    return Path(tempfile.mkdtemp(prefix="dbdyno-", dir="/tmp"))


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _locale() -> str:
    """Order by code point, on machines with and without UTF-8 locales."""
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        return locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    except locale.Error:
        return "C"
    finally:
        locale.setlocale(locale.LC_CTYPE, before)
