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
from dbdyno.servers.huge_pages import refuse_missing_huge_pages
from dbdyno.servers.placement import ANYWHERE, Placement, refuse_impossible
from dbdyno.servers.privileges import server_identity
from dbdyno.servers.product import Blueprint, Cluster
from dbdyno.servers.products import product_of
from dbdyno.servers.server_folders import place_for
from dbdyno.servers.settings import choose_settings, this_machine
from dbdyno.servers.spec import ServerSpec

SOCKET_PATH_MAX = 107  # bytes of sockaddr_un.sun_path, less the closing zero
LOOPBACK = "127.0.0.1"
PORT_MAX = 65_535
LAST_WORDS = 3  # lines of a log in which nothing complains

PREFIX = "dbdyno-"  # of folders in places that others use, too
FOLDERS = "folders"  # of those that lie elsewhere: one a line


def draw_blueprint(
    use: str,
    spec: ServerSpec,
    connections: int,
    *,
    tcp: bool,
    placement: Placement = ANYWHERE,
) -> Blueprint:
    """Finds the programs and settles the settings; any error leaves nothing behind."""
    refuse_impossible(placement)
    product = product_of(spec.kind)
    identity = server_identity()
    place = place_for(use, identity)
    binaries = product.find(spec)
    disk = placement.wal_folder or placement.data_folder or place
    machine = this_machine(disk, placement.server_memory_bytes)
    ours = product.settings(machine, connections, binaries)
    promised = promised_settings(product.protocol, spec.durability)
    settings = choose_settings(ours, promised, spec.settings)
    product.check(binaries, settings)
    refuse_missing_huge_pages(product.huge_pages, settings)
    return Blueprint(
        product=product,
        place=place,
        binaries=binaries,
        settings=settings,
        tcp=tcp,
        identity=identity,
        placement=placement,
    )


def lay_out(folder: Path, blueprint: Blueprint, password: str = "") -> Cluster:
    """Writes the configuration into an empty folder; the server itself is not made yet.

    ``password`` is the one that the data knows, where there is data already.
    """
    placement = blueprint.placement
    cluster = Cluster(
        folder=folder,
        socket_folder=_socket_folder(folder, blueprint.product.socket_name(PORT_MAX)),
        data=_new_folder(placement.data_folder) or folder / "data",
        wal=_new_folder(placement.wal_folder),
        port=_free_port() if blueprint.tcp else 0,
        password=password or secrets.token_urlsafe(18),
        blueprint=blueprint,
    )
    write_private(folder / FOLDERS, "\n".join(map(str, cluster.folders)))
    blueprint.product.configure(cluster)
    cluster.log.touch(0o600)
    blueprint.identity.take_over(*cluster.folders)
    return cluster


def write_private(path: Path, text: str) -> None:
    """A file that its owner alone may read."""
    path.touch(0o600)
    path.write_text(text)


def remove(folder: Path) -> None:
    """Removes what is left of a server, wherever it lies."""
    try:
        elsewhere = [Path(line) for line in (folder / FOLDERS).read_text().splitlines()]
    except OSError:
        elsewhere = []
    # The server's account may have written into its folder: only names of ours are believed.
    for path in (*(path for path in elsewhere if path.name.startswith(PREFIX)), folder):
        shutil.rmtree(path, ignore_errors=True)


def not_started(cluster: Cluster) -> DbdynoError:
    """The error for a server that ended before it was ready."""
    blueprint = cluster.blueprint
    log = cluster.log.read_text(errors="replace") if cluster.log.exists() else ""
    lines = log.splitlines() or ["its log is empty"]
    # The very last line often tells of clearing up alone.
    reason = blueprint.product.failure_reason(lines) or "; ".join(lines[-LAST_WORDS:])
    return DbdynoError(
        "server_failed",
        f"{blueprint.product.title} {blueprint.binaries.version} did not start: {reason}",
        "the reason is quoted from the server's log",
    )


def _socket_folder(folder: Path, name: str) -> Path:
    """The folder itself, or a short one when a socket's path in it would be too long."""
    if len(f"{folder}/{name}".encode()) <= SOCKET_PATH_MAX:
        return folder
    return Path(tempfile.mkdtemp(prefix=PREFIX, dir="/tmp"))


def _new_folder(place: Path | None) -> Path | None:
    """A folder of the server's own in a place that others use, too."""
    return Path(tempfile.mkdtemp(prefix=PREFIX, dir=place)) if place else None


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
