"""A private server for one command: created, used, and removed when dbdyno ends, however it ends.

A guard process starts the server and holds a pipe to us, so even ``kill -9`` of dbdyno ends both.
What a crash of the whole host leaves behind is removed by the next start.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from msgspec import structs

from dbdyno.databases.connection import Connection
from dbdyno.errors import DbdynoError
from dbdyno.home import locked
from dbdyno.servers.base import Server
from dbdyno.servers.cluster import (
    START_PATIENCE_S,
    draw_blueprint,
    is_in_place,
    lay_out,
    remove,
    wait_until_ready,
)
from dbdyno.servers.data_sets import DataSet, in_use, refuse_other_server, restore
from dbdyno.servers.guard_client import Guard
from dbdyno.servers.page_cache import drop_files
from dbdyno.servers.placement import ANYWHERE, Placement
from dbdyno.servers.processes import end, outwait_group
from dbdyno.servers.product import Blueprint, Cluster, Replication
from dbdyno.servers.record import read_record, server_of, write_record
from dbdyno.servers.settings import choose_settings
from dbdyno.servers.spec import ServerSpec

STOP_PATIENCE_S = 30
FOLLOW_PATIENCE_S = 20
"""For how long a standby may not follow: meanwhile it tries to connect again."""
SILENCE_S = 2
LOOK_AGAIN_S = 0.02


@dataclass(frozen=True, kw_only=True)
class PrivateServer(Server):
    """A private server that can be shut down cleanly, and started again on the same data."""

    cluster: Cluster = field(repr=False)
    guard: Guard = field(repr=False)
    standbys: "tuple[PrivateServer, ...]" = ()
    """The servers that follow it."""

    @property
    def product(self) -> str:
        """Its kind, as after ``--server``."""
        return self.cluster.blueprint.product.name

    @property
    def placement(self) -> Placement:
        """What it is bound to."""
        return self.cluster.blueprint.placement

    @property
    def is_gone(self) -> bool:
        """Whether it has ended and its folder is removed; ``stop`` waits for it, up to a limit."""
        return self.guard.process.poll() is not None

    def stop(self) -> None:
        """Stop it and what follows it, and remove their folders."""
        with ExitStack() as stopping:  # whatever becomes of one, the others are stopped
            stopping.callback(super().stop)
            for standby in self.standbys:
                stopping.callback(standby.stop)

    def promote(self) -> None:
        """Make a primary of a standby; returns when it takes writes."""
        with self.connect() as connection:
            self._replication.promote(connection)

    @property
    def further_processes(self) -> list[int]:
        """The processes of its standbys."""
        return [one.process_id for one in self.standbys if one.process_id is not None]

    def wait_for_standbys(self, say: Callable[[str], None]) -> None:
        """Wait until its standbys have applied all that it has committed, however long they take.

        An error says why one does not follow.
        """
        if not self.standbys:
            return
        with self.connect() as connection:
            position = self._replication.position(connection)
        for number, standby in enumerate(self.standbys, 1):
            standby._wait_until_applied(position, f"standby {number}", say)

    def _wait_until_applied(self, position: str, who: str, say: Callable[[str], None]) -> None:
        begin_s = followed_s = time.monotonic()
        is_waiting = False
        with self.connect() as connection:
            while True:
                has_all = self._replication.has(connection, position)
                trouble, now_s = self._replication.trouble(connection), time.monotonic()
                if has_all and not trouble:
                    return
                if not is_waiting and now_s - begin_s > SILENCE_S:
                    say(f"waiting until {who} has applied all data")
                    is_waiting = True
                if not trouble:
                    followed_s = now_s
                elif now_s - followed_s > FOLLOW_PATIENCE_S:
                    log = self.cluster.log.read_text(errors="replace").splitlines()
                    said = self.cluster.blueprint.product.failure_reason(log)
                    raise DbdynoError(
                        "standby_behind",
                        f"{who} does not follow its primary: {trouble}",
                        f"its log says: {said}" if said else "",
                    )
                time.sleep(LOOK_AGAIN_S)

    def is_followed_synchronously(self) -> bool:
        """Whether a commit is at present acknowledged only when all standbys have received it.

        Raises what the driver does if the server does not answer.
        """
        settings = {one.name: one.value for one in self.cluster.blueprint.settings}
        count = len(self.standbys)
        if not count or not self._replication.is_synchronous(settings, count):
            return False
        with self.connect() as connection:
            return self._replication.waits(connection)

    @property
    def _replication(self) -> Replication:
        replication = self.cluster.blueprint.product.replication
        assert replication  # without it, there are no standbys
        return replication

    def shut_down(self) -> None:
        """Shut it down cleanly: all data is written to disk, and stays until ``stop``."""
        self.guard.shut_down(self.cluster)

    def kill(self) -> None:
        """Kill all of its processes, so that nothing is finished or written any more.

        What the kernel has been given survives, unlike in a power cut.
        """
        self.guard.kill()

    def started_again(self, settings: Mapping[str, str] | None = None) -> "PrivateServer":
        """Start it again after its end, on the same data, with these settings added."""
        cluster = self.cluster
        if settings:
            blueprint = cluster.blueprint
            chosen = choose_settings(blueprint.settings, (), settings)
            blueprint.product.check(blueprint.binaries, chosen)  # nothing is changed if it refuses
            cluster = structs.replace(
                cluster, blueprint=structs.replace(blueprint, settings=chosen)
            )
            blueprint.product.configure(cluster)
        cluster.log.write_bytes(b"")  # its contents concern the previous start
        mark = self.guard.start_again(cluster)
        wait_until_ready(cluster, mark)
        record = write_record(cluster, mark)
        return replace(self, cluster=cluster, process_id=mark.pid, settings=record.settings)

    def restarted(self, settings: Mapping[str, str] | None = None) -> "PrivateServer":
        """Shut it down cleanly and start it again; the old object must no longer be used."""
        self.shut_down()
        return self.started_again(settings)

    def warm(self, connection: Connection, tables: Sequence[str]) -> str:
        """Read the tables and their indexes into the caches; return what was done, in words."""
        return self.cluster.blueprint.product.warm(connection, tables)

    def cooled(self) -> tuple["PrivateServer", str]:
        """Restart it with cold caches; return it, and what was done, in words.

        Neither the server nor the kernel then caches a page of the data: between stop and start,
        the files are dropped from the kernel's cache.
        """
        self.shut_down()
        dropped = drop_files(self.cluster.data, self.cluster.wal_place)
        return self.started_again(), f"restarted the server and {dropped}"


def start_private(  # noqa: PLR0913 - independent inputs
    spec: ServerSpec,
    connections: int,
    *,
    tcp: bool = False,
    data: DataSet | None = None,
    placement: Placement = ANYWHERE,
    primary: Cluster | None = None,
    number: int = 0,
) -> PrivateServer:
    """Start a server for so many connections: empty, or on a copy of ``data``; and its standbys.

    With ``tcp``, the load uses loopback TCP. With ``primary`` it is the standby of that ``number``.
    """
    blueprint = draw_blueprint(
        "private",
        spec,
        connections,
        tcp=tcp,
        placement=placement,
        primary=primary,
        number=number,
    )
    replication = blueprint.product.replication
    if data is not None:
        refuse_other_server(data, blueprint)
    with _new_folder(blueprint.place) as (folder, lock):
        try:
            cluster = _laid_out(folder, blueprint, data)
            guard = Guard.start(cluster, lock, is_installed=data is not None)
        except BaseException:
            remove(folder)
            raise
    standbys: list[PrivateServer] = []
    try:
        mark = guard.announced(cluster)
        record = write_record(cluster, mark)  # by which it is found if the guard is killed
        wait_until_ready(cluster, mark)
        stopper = partial(_stop, guard, blueprint.place)
        shared = vars(server_of("private", record)) | {"stopper": stopper}
        server = PrivateServer(**shared, cluster=cluster, guard=guard)
        alone = structs.replace(spec, standbys=0, sharing=spec.parts)
        for one in range(1, spec.standbys + 1):
            assert replication  # or its blueprint would have been refused
            standby = start_private(
                alone,
                connections,
                data=None if replication.copies_primary else data,
                placement=placement,
                primary=cluster,
                number=one,
            )
            standbys.append(standby)
            with server.connect() as followed, standby.connect() as following:
                replication.begin(followed, following, cluster)
    except BaseException:
        for standby in standbys:
            standby.stop()
        _stop(guard, blueprint.place)
        raise
    return replace(server, standbys=tuple(standbys))


def _laid_out(folder: Path, blueprint: Blueprint, data: DataSet | None) -> Cluster:
    if data is None:
        return lay_out(folder, blueprint)
    with in_use(data):
        cluster = lay_out(folder, blueprint, data.password())
        restore(data, cluster)
    placement = blueprint.placement
    if placement.server_memory_bytes or placement.numa:
        # Pages cached by our copying would count against our limits and be on our memory nodes.
        drop_files(cluster.data, cluster.wal_place)
    return cluster


def _stop(guard: Guard, place: Path) -> None:
    """Have the guard stop the server and remove its folder; if it was killed, do so ourselves."""
    guard.dismiss()
    if guard.was_killed:
        with locked(place / "lock"):
            _clear_up(place, guard.process.pid)


@contextmanager
def _new_folder(place: Path) -> Iterator[tuple[Path, int]]:
    """Yield an empty folder and its lock, which the guard must hold by the end of the block."""
    with locked(place / "lock"):
        _clear_up(place)
        folder = Path(tempfile.mkdtemp(dir=place))
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield folder, lock
    finally:
        os.close(lock)


def _clear_up(place: Path, group: int | None = None) -> None:
    """Remove folders that no guard holds any more.

    ``group`` is the process group of a guard that was killed. An installer that it had started has
    no record, and is left to finish: PostgreSQL's leaves shared memory behind if it is cut off, or
    if its folder is removed meanwhile.
    """
    for folder in place.iterdir():
        if not folder.is_dir() or _is_held(folder / "lock"):
            continue
        record = read_record(folder)
        if record is not None and is_in_place(folder, record.process):
            end(record.process, record.stop_signal, STOP_PATIENCE_S)
        if group is not None:
            outwait_group(group, START_PATIENCE_S)
        remove(folder)


def _is_held(lock: Path) -> bool:
    """Whether a guard holds the lock; also if that cannot be found out: its server may be alive."""
    try:
        with lock.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
