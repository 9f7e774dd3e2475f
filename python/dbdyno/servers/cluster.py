"""A server's folder: planned, checked, created, awaited and removed. Starts no server.

Everything is in one folder: data, configuration, log, and the socket, unless its path would be too
long. Only its owner can connect, over the Unix socket; loopback TCP, if requested, needs a
password, since every user of the host can reach it.
"""

import re
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from stat import S_IMODE

from dbdyno.errors import DbdynoError
from dbdyno.servers.huge_pages import refuse_missing_huge_pages
from dbdyno.servers.placement import ANYWHERE, Placement, refuse_impossible
from dbdyno.servers.privileges import server_identity
from dbdyno.servers.processes import ProcessMark, is_running
from dbdyno.servers.product import Blueprint, Cluster, product_of, promised_settings
from dbdyno.servers.record import read_record
from dbdyno.servers.server_folders import place_for
from dbdyno.servers.settings import choose_settings, this_machine
from dbdyno.servers.spec import EXAMPLE, ServerSpec

SOCKET_PATH_MAX = 107  # bytes of sockaddr_un.sun_path, minus the terminating zero
LOOPBACK = "127.0.0.1"
PORT_MAX = 65_535
LOG_ROOM_BYTES = 1 << 20  # with less, an empty log does not mean that there was nothing to report
DISK_ROOM_BYTES = 16 << 20  # with less, a server cannot create its first log files
START_PATIENCE_S = 120
LOG_END_LINES = 3  # number of a log's last lines shown if none of them reports an error

PREFIX = "dbdyno-"  # of folders in places that others use, too
MADE = re.compile(rf"{PREFIX}[a-z0-9_]{{8}}")
CLOSED = 0o700
FOLDERS = "folders"  # a list of the folders elsewhere
END = "\0"  # the only character that no path contains


def draw_blueprint(  # noqa: PLR0913 - independent inputs
    use: str,
    spec: ServerSpec,
    connections: int,
    *,
    tcp: bool,
    placement: Placement = ANYWHERE,
    primary: Cluster | None = None,
    number: int = 0,
) -> Blueprint:
    """Find the programs and determine the settings; an error leaves nothing behind.

    With ``primary`` it is the standby of that number.
    """
    refuse_impossible(placement)
    product = product_of(spec.kind)
    replication = product.replication
    if spec.standbys and replication is None:
        raise DbdynoError("no_standbys", f"dbdyno starts no standbys of {product.title}", EXAMPLE)
    identity = server_identity()
    place = place_for(use, identity)
    binaries = product.find(spec)
    disk = placement.wal_folder or placement.data_folder or place
    machine = this_machine(disk, placement.server_memory_bytes, servers=spec.parts)
    defaults = [*product.settings(machine, connections, binaries)]
    if replication and (spec.standbys or primary):
        defaults += replication.settings
    promised = promised_settings(product.database, spec.durability)
    settings = choose_settings(defaults, promised, spec.settings)
    if replication and primary:
        settings = tuple(replication.of_standby(settings))
    elif replication:
        replication.refuse_unmet({one.name: one.value for one in settings}, spec.standbys)
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
        standbys=spec.standbys,
        primary=primary,
        number=number,
    )


def lay_out(folder: Path, blueprint: Blueprint, password: str = "") -> Cluster:
    """Write the configuration into an empty folder; the data folder is not created yet.

    ``password`` is the one that existing data contains, if there is any.
    """
    placement = blueprint.placement
    replication = blueprint.product.replication
    is_followed_over_tcp = bool(blueprint.standbys and replication and replication.over_tcp)
    longest_socket = f"{folder}/{blueprint.product.socket_name(PORT_MAX)}"
    is_short = len(longest_socket.encode()) <= SOCKET_PATH_MAX
    cluster = Cluster(
        folder=folder,
        socket_folder=folder if is_short else Path(tempfile.mkdtemp(prefix=PREFIX, dir="/tmp")),
        data=_new_folder(placement.data_folder) or folder / "data",
        wal=_new_folder(placement.wal_folder),
        port=_free_port() if blueprint.tcp or is_followed_over_tcp else 0,
        password=password or secrets.token_urlsafe(18),
        blueprint=blueprint,
    )
    write_private(folder / FOLDERS, END.join(map(str, cluster.folders)))
    blueprint.product.configure(cluster)
    cluster.log.touch(0o600)
    blueprint.identity.take_over(*cluster.folders)
    return cluster


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read."""
    path.touch(0o600)
    path.write_text(text)


def remove(folder: Path) -> None:
    """Remove what is left of a server that has ended, wherever it is."""
    try:
        elsewhere = [Path(line) for line in (folder / FOLDERS).read_text().split(END)]
    except OSError:
        elsewhere = []
    # The server's account may have written into its folder, so a list of folders is no proof.
    ours = (*filter(_is_made_by_us, elsewhere), folder)
    if record := read_record(folder):
        data = Path(record.data)
        release = product_of(record.product).release(data)
        if release and any(data.is_relative_to(path) for path in ours):
            subprocess.run(release, check=False)
    for path in ours:
        shutil.rmtree(path, ignore_errors=True)


def _is_made_by_us(folder: Path) -> bool:
    """Whether the folder looks as :func:`_new_folder` makes it: by its name, and closed to all."""
    try:
        return MADE.fullmatch(folder.name) is not None and S_IMODE(folder.lstat().st_mode) == CLOSED
    except OSError:
        return False


def is_in_place(folder: Path, process: ProcessMark) -> bool:
    """Whether the process works in the server's folder, or in one of its folders elsewhere.

    Each of our servers does. A record that names another process has been changed.
    """
    try:
        place = Path(f"/proc/{process.pid}/cwd").readlink()
    except FileNotFoundError:
        return True  # it has just ended, and works nowhere any more
    except OSError:
        return False
    return place.is_relative_to(folder.resolve()) or _is_made_by_us(place)


def wait_until_ready(cluster: Cluster, process: ProcessMark) -> None:
    """Wait until the server accepts connections; raise an error if it ends before."""
    product = cluster.blueprint.product
    deadline = time.monotonic() + START_PATIENCE_S
    while not product.is_ready(cluster, process.pid):
        if not is_running(process):
            raise not_started(cluster)
        if time.monotonic() > deadline:
            raise DbdynoError(
                "server_slow",
                f"{product.title} was not ready after {START_PATIENCE_S} s",
                "is the disk very slow, or the host out of memory?",
            )
        time.sleep(0.01)


def not_started(cluster: Cluster) -> DbdynoError:
    """Return the error for a server that ended before it was ready."""
    blueprint = cluster.blueprint
    log = cluster.log.read_text(errors="replace") if cluster.log.exists() else ""
    free_bytes = shutil.disk_usage(cluster.folder).free
    if not log and free_bytes < LOG_ROOM_BYTES:
        return DbdynoError(
            "disk_full",
            f"{blueprint.product.title} {blueprint.binaries.version} did not start, and had no "
            f"room for its reasons: {cluster.folder.parent} has {free_bytes // 1024} kB left",
            "free some space there, or set DBDYNO_HOME to a folder on another disk",
        )
    lines = log.splitlines() or ["its log is empty"]
    # The very last line is often only about cleaning up.
    reason = blueprint.product.failure_reason(lines)
    hint = "the reason is quoted from the server's log"
    if not reason and blueprint.placement.server_memory_bytes is not None:
        # The kernel kills whatever needs more, and the log ends with anything.
        hint = "the server may need more memory than --server-memory gives it"
    return DbdynoError(
        "disk_full" if free_bytes < DISK_ROOM_BYTES else "server_failed",
        f"{blueprint.product.title} {blueprint.binaries.version} did not start: "
        f"{reason or '; '.join(lines[-LOG_END_LINES:])}",
        hint,
    )


def _new_folder(place: Path | None) -> Path | None:
    """Create a folder for this server in a place that others use, too."""
    return Path(tempfile.mkdtemp(prefix=PREFIX, dir=place)) if place else None


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
