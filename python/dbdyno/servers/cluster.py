"""A server's folder: drawn, checked, laid out and removed. Starts nothing itself.

All of it lies in one folder: data, configuration, log, and the socket unless the path would be
too long for one. Reached over the Unix socket by its owner alone; loopback TCP, when asked for,
needs a password, since every user of the machine can reach that.
"""

import secrets
import shutil
import socket
import tempfile
from pathlib import Path

from dbdyno.errors import DbdynoError
from dbdyno.servers.durability import promised_settings
from dbdyno.servers.places import place_for
from dbdyno.servers.privileges import server_identity
from dbdyno.servers.product import Blueprint, Cluster
from dbdyno.servers.products import product_of
from dbdyno.servers.settings import choose_settings, this_machine
from dbdyno.servers.spec import ServerSpec

SOCKET_PATH_MAX = 107  # bytes of sockaddr_un.sun_path, less the closing zero
LOOPBACK = "127.0.0.1"
PORT_MAX = 65_535


def draw_blueprint(use: str, spec: ServerSpec, connections: int, *, tcp: bool) -> Blueprint:
    """Finds the programs and settles the settings; any error leaves nothing behind."""
    product = product_of(spec.kind)
    identity = server_identity()
    place = place_for(use, identity)
    binaries = product.find(spec)
    ours = product.settings(this_machine(place), connections, binaries)
    promised = promised_settings(product.protocol, spec.durability)
    settings = choose_settings(ours, promised, spec.settings)
    product.check(binaries, settings)
    return Blueprint(
        product=product,
        place=place,
        binaries=binaries,
        settings=settings,
        tcp=tcp,
        identity=identity,
    )


def lay_out(folder: Path, blueprint: Blueprint) -> Cluster:
    """Writes the configuration into an empty folder; the server itself is not made yet."""
    cluster = Cluster(
        folder=folder,
        socket_folder=_socket_folder(folder, blueprint.product.socket_name(PORT_MAX)),
        port=_free_port() if blueprint.tcp else 0,
        password=secrets.token_urlsafe(18),
        blueprint=blueprint,
    )
    blueprint.product.configure(cluster)
    cluster.log.touch(0o600)
    blueprint.identity.take_over(*cluster.folders)
    return cluster


def write_private(path: Path, text: str) -> None:
    """A file that its owner alone may read."""
    path.touch(0o600)
    path.write_text(text)


def remove(folders: list[Path]) -> None:
    """Removes what is left of a server."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def not_started(cluster: Cluster) -> DbdynoError:
    """The error for a server that ended before it was ready."""
    blueprint = cluster.blueprint
    log = cluster.log.read_text(errors="replace") if cluster.log.exists() else ""
    lines = log.splitlines() or ["it left no word in its log"]
    reason = blueprint.product.failure_reason(lines) or lines[-1]
    return DbdynoError(
        "server_failed",
        f"{blueprint.product.title} {blueprint.binaries.version} did not start: {reason}",
        "the reason above is from the server's own log",
    )


def _socket_folder(folder: Path, name: str) -> Path:
    """The folder itself, or a short one when a socket's path in it would be too long."""
    if len(f"{folder}/{name}".encode()) <= SOCKET_PATH_MAX:
        return folder
    return Path(tempfile.mkdtemp(prefix="dbdyno-", dir="/tmp"))


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
