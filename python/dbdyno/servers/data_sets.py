"""Prepared data, kept for later servers: a data folder after a clean shutdown, and its description.

A set is ``DBDYNO_HOME/data/KEY``. It appears whole or not at all, and is never changed: each server
gets its own copy. A process that uses a set holds a lock on it, which prevents its removal. The key
is chosen by the set's creator: it names all that the data depends on.
"""

import fcntl
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from dbdyno.errors import DbdynoError
from dbdyno.home import home, home_folder, leads_outside, locked, not_a_file
from dbdyno.servers.cluster import write_private
from dbdyno.servers.copying import copy_trees, refuse_lack_of_room, tree_bytes
from dbdyno.servers.product import Blueprint, Cluster
from dbdyno.servers.spec import Kind

USE = "data"
ABOUT = "about.json"
PASSWORD = "password"
LOCK = "lock"  # held by a process that creates or removes a set
KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.=+-]{0,120}")
UNFINISHED = "."  # prefix of the names of folders that are being created or removed


class About(Struct, frozen=True, kw_only=True):
    """What the creator knows about the data."""

    workload: str
    parameters: dict[str, Any] = {}
    load: dict[str, Any] = {}
    """The loading: rows, rows per second, seconds of each phase."""


class _Written(Struct, frozen=True, kw_only=True):
    """The contents of ``about.json``."""

    product: Kind
    version: str
    settings: dict[str, str]
    """Settings with which the files were created; a server with others cannot read them."""
    bytes: int
    made_at: str
    about: About


class DataSet(_Written, frozen=True, kw_only=True):
    """A data set. ``used_at`` is when a server last got a copy."""

    key: str
    folder: Path
    used_at: str

    def password(self) -> str:
        """Return the password of the data's owner for connections over TCP."""
        return (self.folder / PASSWORD).read_text()


class StoppableServer(Protocol):
    """What a set is made of: a server that stops for good, and its files."""

    @property
    def cluster(self) -> Cluster:
        """The server's files."""

    def shut_down(self) -> None:
        """Stop the server cleanly."""


def find_data_set(key: str) -> DataSet | None:
    """Return the set with this key, if there is one; refuse one with parts outside of it."""
    folder = _place() / _checked(key)
    if why := _refusal(folder):
        raise DbdynoError("leads_outside", why, f"remove {folder} yourself")
    return _read(folder)


def list_data_sets() -> list[DataSet]:
    """Return all sets, by key; a warning names the file of one that cannot be read."""
    found = []
    for folder in sorted(_place().glob("[!.]*")):
        why = _refusal(folder)
        data = None if why else _read(folder)
        if data is not None:
            found.append(data)
        elif why:
            warnings.warn(f"{why}: the data set is left out", stacklevel=2)
        elif (folder / ABOUT).exists():
            warnings.warn(f"{folder / ABOUT} is damaged: the data set is left out", stacklevel=2)
    return found


def _place() -> Path:
    """The folder of all sets; not created by reading."""
    return home() / USE


def keep_data(server: StoppableServer, key: str, about: About) -> DataSet:
    """Shut the server down and turn its data into a set, which replaces an older one.

    The server cannot be started again: its files are moved, not copied, if at all possible.
    """
    place = home_folder(USE)
    final = place / _checked(key)
    server.shut_down()
    with _changing(place):
        folder = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=place))
        try:
            _fill(folder, server.cluster, about)
            _remove(final)
            folder.rename(final)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    kept = _read(final)
    assert kept is not None  # it has just been written
    return kept


@contextmanager
def in_use(data: DataSet) -> Iterator[None]:
    """Prevent the removal of the set within the block."""
    try:
        with _held(data.folder, fcntl.LOCK_SH):
            os.utime(data.folder / ABOUT)
            yield
    except FileNotFoundError as error:
        if data.folder.exists():
            raise
        raise unknown_data_set(data.key) from error


def remove_data_set(key: str) -> int:
    """Remove a set that is not in use; return its size in bytes."""
    with _changing(home_folder(USE)):
        data = find_data_set(key)
        if data is None:
            raise unknown_data_set(key)
        _remove(data.folder)
    return data.bytes


def refuse_other_server(data: DataSet, blueprint: Blueprint) -> None:
    """Refuse a server that could not read these files, or would change them."""
    product = blueprint.product
    wanted = (product.name, blueprint.binaries.version)
    if wanted != (data.product, data.version):
        raise _mismatch(data, f"{product.title} {blueprint.binaries.version}")
    shape = product.shape_of(blueprint.settings)
    if shape != data.settings:
        settings = ", ".join(f"{name}={value}" for name, value in shape.items()) or "the defaults"
        raise _mismatch(data, f"a server with {settings}")


def restore(data: DataSet, cluster: Cluster) -> None:
    """Give a server that has a folder, but is not started, its own copy of the files."""
    cluster.data.mkdir(mode=0o700, exist_ok=True)
    if cluster.wal and cluster.blueprint.product.wal_folder:
        _link(cluster).symlink_to(cluster.wal)
    pairs = [(data.folder / "data", cluster.data), (data.folder / "wal", cluster.wal_place)]
    copy_trees(pairs, f"a copy of the data set {data.key}")
    cluster.blueprint.identity.take_over(cluster.data, cluster.wal_place)


def _fill(folder: Path, cluster: Cluster, about: About) -> None:
    size = tree_bytes(cluster.data) + (tree_bytes(cluster.wal) if cluster.wal else 0)
    _move_in(cluster, folder, size)
    write_private(folder / PASSWORD, cluster.password)
    blueprint = cluster.blueprint
    written = _Written(
        product=blueprint.product.name,
        version=blueprint.binaries.version,
        settings=blueprint.product.shape_of(blueprint.settings),
        bytes=size,
        made_at=_moment(datetime.now(UTC)),
        about=about,
    )
    write_private(folder / ABOUT, msgspec.json.encode(written).decode())
    os.sync()


def _move_in(cluster: Cluster, folder: Path, size: int) -> None:
    """Move data and WAL into separate folders, so that a server can have them on separate disks."""
    if cluster.data.stat().st_dev != folder.stat().st_dev:
        refuse_lack_of_room(size, folder, "the data set")
    log = folder / "wal"
    log.mkdir(mode=0o700)
    for name in cluster.blueprint.product.wal_names:
        for path in [*cluster.wal_place.glob(name)]:
            shutil.move(path, log / path.name)
    if cluster.blueprint.product.wal_folder:
        # It would be in the way of a server's own.
        place = _link(cluster)
        if place.is_symlink():
            place.unlink()
        else:
            place.rmdir()
    shutil.move(cluster.data, folder / "data")


def _link(cluster: Cluster) -> Path:
    """The link by which a server with a fixed WAL folder finds it elsewhere."""
    return cluster.data / cluster.blueprint.product.wal_folder


def _read(folder: Path) -> DataSet | None:
    try:
        path = folder / ABOUT
        written = msgspec.json.decode(path.read_bytes(), type=_Written)
        used = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return DataSet(
        key=folder.name, folder=folder, used_at=_moment(used), **msgspec.structs.asdict(written)
    )


def _refusal(folder: Path) -> str:
    """Return why a set that is there is not used, although it may be sound; normally nothing."""
    links = (leads_outside(place) for place in (folder, folder / "data", folder / "wal"))
    files = (not_a_file(folder / name) for name in (ABOUT, PASSWORD))
    return next(filter(None, (*links, *files)), "")


def is_unused_for(data: DataSet, seconds: float) -> bool:
    """Whether no server got a copy within this time."""
    return datetime.now(UTC) - datetime.fromisoformat(data.used_at) >= timedelta(seconds=seconds)


def _moment(when: datetime) -> str:
    return when.isoformat(timespec="seconds")


@contextmanager
def _held(folder: Path, lock: int) -> Iterator[None]:
    """Hold a lock on the folder itself, which disappears with it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, lock)
        if not folder.exists():  # removed while waiting for the lock
            raise FileNotFoundError(folder)
        yield
    finally:
        os.close(descriptor)


def _remove(folder: Path) -> None:
    """Rename the folder, then delete its files; refused while somebody copies from it."""
    if not folder.exists():
        return
    try:
        with _held(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
            gone = folder.rename(folder.with_name(f"{UNFINISHED}{folder.name}.{os.getpid()}"))
            shutil.rmtree(gone)
    except BlockingIOError as error:
        raise DbdynoError(
            "data_set_in_use",
            f"the data set {folder.name} is in use",
            "retry when the study that uses it has ended",
        ) from error


@contextmanager
def _changing(place: Path) -> Iterator[None]:
    """Hold the lock for changes; remove first what a killed process has left unfinished."""
    with locked(place / LOCK):
        for folder in place.glob(f"{UNFINISHED}*"):
            shutil.rmtree(folder, ignore_errors=True)
        yield


def _checked(key: str) -> str:
    if KEY.fullmatch(key):
        return key
    raise DbdynoError(
        "bad_name", f"{key!r} is not a valid data set key", "use letters, digits, . _ = + -"
    )


def unknown_data_set(key: str) -> DbdynoError:
    """Return the error for a key that no set has."""
    keys = ", ".join(data.key for data in list_data_sets()) or "none"
    message = f"no data set has the key {key!r}; there are: {keys}"
    return DbdynoError("unknown_data_set", message, "see dbdyno data list")


def _mismatch(data: DataSet, server: str) -> DbdynoError:
    settings = ", ".join(f"{name}={value}" for name, value in data.settings.items())
    made = f"{data.product} {data.version}" + (f" with {settings}" if settings else "")
    return DbdynoError(
        "data_set_mismatch",
        f"the data set {data.key} was made by {made}: {server} cannot use it",
        f"load the data again, or: dbdyno data prune {data.key}",
    )
