"""Kept servers: started, found and stopped by name; they keep running when dbdyno ends.

They are meant for experiments and not as a place for data: ``stop`` removes a server with all its
data. Its folder is ``DBDYNO_HOME/servers/NAME``, and its lock makes dbdyno processes take turns.
"""

import re
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from dbdyno.databases.known import startable
from dbdyno.errors import DbdynoError
from dbdyno.home import locked, not_a_file
from dbdyno.servers.base import Server
from dbdyno.servers.cluster import (
    FOLDERS,
    draw_blueprint,
    is_in_place,
    lay_out,
    not_started,
    remove,
    wait_until_ready,
)
from dbdyno.servers.privileges import server_identity
from dbdyno.servers.processes import ProcessMark, end, is_running, kill_with_children, mark_of
from dbdyno.servers.product import Cluster, Product, product_of
from dbdyno.servers.record import FILE, LOG, ServerRecord, read_record, server_of, write_record
from dbdyno.servers.server_folders import place_for, place_of
from dbdyno.servers.spec import EXAMPLE, ServerSpec

FIRST = "Start one: dbdyno server start"
WHAT_ELSE = f"For a new server, give its kind: {EXAMPLE}."
USE = "servers"
STOP_PATIENCE_S = 30
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,40}")


class KeptServer(Struct, frozen=True):
    """A line of the list: what is known without asking the server itself."""

    name: str
    product: str
    running: bool
    version: str
    started_at: str
    log: Path


def start_kept(name: str, spec: ServerSpec, connections: int, *, tcp: bool = False) -> Server:
    """Start a kept server; the name must be free."""
    if not NAME.fullmatch(name):
        raise DbdynoError(
            "bad_name", f"{name!r} is not a valid server name", "use letters, digits, . _ -"
        )
    if name in startable():
        raise DbdynoError(
            "bad_name",
            f"{name!r} is a kind of server, not a valid name",
            f"dbdyno server start NAME --server {name}",
        )
    if spec.standbys:
        raise DbdynoError(
            "no_standbys",
            "a kept server has no standbys",
            f"A run's own server has: dbdyno run … --server {spec.kind},standbys={spec.standbys}",
        )
    with _named(name) as folder:
        _refuse_taken(name, folder)
        blueprint = draw_blueprint(USE, spec, connections, tcp=tcp)
        _clear_up(folder.parent)
        remove(folder)  # left by a start that was killed
        folder.mkdir(mode=0o700)
        return _start(lay_out(folder, blueprint))


def list_kept() -> list[KeptServer]:
    """Return all kept servers, by name, including those that have died.

    A warning names the record that cannot be read.
    """
    place = _where()
    folders = sorted(path for path in place.iterdir() if path.is_dir()) if place.exists() else ()
    lines = []
    for folder in folders:
        record = read_record(folder)
        if record is not None:
            started = datetime.fromtimestamp((folder / FILE).stat().st_mtime, UTC)
            line = KeptServer(
                name=folder.name,
                product=product_of(record.product).title,
                running=is_running(record.process),
                version=record.version,
                started_at=started.isoformat(timespec="seconds"),
                log=folder / LOG,
            )
            lines.append(line)
        elif (folder / FILE).exists():
            why = not_a_file(folder / FILE) or f"{folder / FILE} is damaged"
            warnings.warn(f"{why}: its server is left out", stacklevel=2)
    return lines


def find_kept(name: str) -> Server:
    """Return the running server with this name."""
    record, folder = _record(name, WHAT_ELSE), _where() / name
    _refuse_changed(record, folder)
    if not is_running(record.process):
        raise DbdynoError(
            "server_died",
            f"the server {name!r} is no longer running",
            f"read its log, then: dbdyno server stop {name}",
        )
    for place in (record.folder, record.data):
        if not Path(place).resolve().is_relative_to(folder.resolve()):
            raise _changed(folder, f"says that the server is in {place}")
    return server_of("kept", record)


def stop_kept(name: str) -> None:
    """Stop the server with this name and remove its folder, even if it has died."""
    _record(name)  # no lock for a name that does not exist
    with _named(name) as folder:
        record = _record(name)
        original = Path(record.folder)
        if is_running(record.process) and original.exists() and not original.samefile(folder):
            raise DbdynoError(
                "copied_server",
                f"{folder} is a copy: its server runs in {original}",
                "stop the server there, with that DBDYNO_HOME; then this command removes the copy",
            )
        _refuse_changed(record, folder)
        if not end(record.process, record.stop_signal, STOP_PATIENCE_S):
            kill_with_children(record.process, STOP_PATIENCE_S)
        remove(folder)


def product_of_kept(name: str) -> Product:
    """Return the product of the server with this name."""
    return product_of(_record(name, WHAT_ELSE).product)


def log_of_kept(name: str) -> Path:
    """Return the log file of the server with this name, in its folder, whatever the record says."""
    _record(name)
    return _where() / name / LOG


def _where() -> Path:
    """The folder of all kept servers; not created by reading."""
    return place_of(USE, server_identity())


@contextmanager
def _named(name: str) -> Iterator[Path]:
    """Yield the folder with this name, for one dbdyno process at a time."""
    folder = place_for(USE, server_identity()) / name
    with locked(_lock_of(folder)):
        yield folder


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.lock")


def _clear_up(place: Path) -> None:
    """Remove what starts that were killed have left under other names: nothing lists it."""
    for folders in place.glob(f"*/{FOLDERS}"):
        folder = folders.parent
        with suppress(BlockingIOError), locked(_lock_of(folder), waits=False):
            if not (folder / FILE).exists():
                remove(folder)


def _start(cluster: Cluster) -> Server:
    initdb, server = cluster.commands()
    process: ProcessMark | None = None
    try:
        _run(cluster, initdb)
        process = _detach(cluster, server)
        # Before it is ready: if we are killed while waiting, it can be found and stopped.
        record = write_record(cluster, process)
        wait_until_ready(cluster, process)
        return server_of("kept", record)
    except BaseException:
        if process is not None:
            end(process, cluster.blueprint.product.stop_signal, STOP_PATIENCE_S)
        remove(cluster.folder)
        raise


def _detach(cluster: Cluster, command: list[str]) -> ProcessMark:
    """Start the server detached: not as our child, and in no terminal's session."""
    pid = int(_run(cluster, ["sh", "-c", '"$@" >&2 & echo $!', "sh", *command]))
    try:
        return mark_of(pid)
    except OSError as error:  # it ended at once
        raise not_started(cluster) from error


def _run(cluster: Cluster, command: list[str]) -> str:
    """Run a command and return its output; its error messages go to the log."""
    with cluster.log.open("ab") as log:
        result = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=cluster.folder,
            start_new_session=True,
            check=False,
            **cluster.blueprint.identity.credentials(),
        )
    if result.returncode != 0:
        raise not_started(cluster)
    return str(result.stdout)


def _refuse_taken(name: str, folder: Path) -> None:
    record = read_record(folder)
    if record is None:
        if (folder / FILE).exists():
            raise DbdynoError(
                "name_taken",
                f"{folder / FILE} describes a server that this dbdyno cannot read",
                "use another name, or remove its folder once nothing runs in it",
            )
        return
    state = "is running" if is_running(record.process) else "has died, but its data still exists"
    raise DbdynoError(
        "name_taken",
        f"a server named {name!r} {state}",
        f"use another name, or: dbdyno server stop {name}",
    )


def _refuse_changed(record: ServerRecord, folder: Path) -> None:
    """Refuse what would stop another process, or remove another folder."""
    if folder.is_symlink():
        raise _changed(folder, f"is in a folder that is a link to {folder.readlink()}")
    if is_running(record.process) and not is_in_place(folder, record.process):
        raise _changed(folder, f"names process {record.process.pid}, which works elsewhere")


def _changed(folder: Path, how: str) -> DbdynoError:
    return DbdynoError(
        "changed_record",
        f"{folder / FILE} {how}: it has been changed, or copied from elsewhere",
        f"remove {folder} yourself, once no server runs in it",
    )


def _record(name: str, hint: str = "") -> ServerRecord:
    record = None
    if NAME.fullmatch(name):
        folder = _where() / name
        if why := not_a_file(folder / FILE) or not_a_file(folder / LOG):
            hint = f"remove {folder} yourself, once no server runs in it"
            raise DbdynoError("changed_record", why, hint)
        record = read_record(folder)
    if record is None:
        names = [line.name for line in list_kept()]
        message = f"no server is named {name!r}; there are: {', '.join(names) or 'none'}"
        next_step = "See dbdyno server list." if names else FIRST
        raise DbdynoError("unknown_server", message, hint or next_step)
    return record
