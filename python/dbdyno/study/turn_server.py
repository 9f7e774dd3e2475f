"""The server of each turn: private, with its data restored as often as the study requires.

A turn that needs another server or other data than the one before always starts with restored data:
it must not be affected by what ran before it.
"""

import time

from dbdyno.formatting import gigabytes
from dbdyno.model.study import StudySpec
from dbdyno.run.connected_server import connect_to
from dbdyno.run.observer import Observer
from dbdyno.run.readiness import DataFound, find_data
from dbdyno.run.target import New
from dbdyno.run.tools import Tools
from dbdyno.servers.base import Server
from dbdyno.servers.private import PrivateServer, start_private
from dbdyno.study.machine import DISK_SPARE_BYTES, disk_free_bytes, disk_full
from dbdyno.study.prepared_data import PreparedData
from dbdyno.study.resolved_point import ResolvedPoint

LOOK_S = 0.1
Key = tuple[object, ...]


class TurnServer:
    """Holds at most one server at a time."""

    def __init__(self, spec: StudySpec, connections: int, tools: Tools, observer: Observer) -> None:
        self._spec = spec
        self._connections = connections
        self._tools = tools
        self._observer = observer
        self.data = PreparedData(tools, observer)
        self._held: PrivateServer | None = None
        self._key: Key = ()
        self._ended: PrivateServer | None = None
        self.notes: list[str] = []
        """How the server of this turn was prepared, in sentences."""
        self.load_s = 0.0
        """Time in which this turn loaded data."""
        self.found: DataFound | None = None
        """What a look at the data showed before its caches were emptied; None if the run looks."""

    def server_for(self, point: ResolvedPoint, block: int) -> Server | None:
        """Return a server prepared for the point; None if the point names a running one."""
        self.notes, self.load_s, self.found = [], 0.0, None
        if point.server is None:
            return None
        key = (point.server, point.shapes, block if self._spec.restore == "each block" else 0)
        if self._held is None or key != self._key:
            self.release()
            self._held, self._key = self._started(point, point.server), key
        self._held = self._with_cache(point, self._held)
        return self._held

    def end_turn(self) -> None:
        """End the server unless the next turn may use it, too."""
        if self._spec.restore == "each run":
            self.release()

    def release(self) -> None:
        """End the current server."""
        held, self._held = self._held, None
        if held is not None:
            held.stop()
            self._ended = held

    def _refuse_full_disk(self, point: ResolvedPoint, new: New) -> None:
        """Raise DbdynoError if copies of the data have no room when the last ones are gone."""
        needed = point.data_bytes * new.spec.servers + DISK_SPARE_BYTES
        while (free := disk_free_bytes()) < needed:
            if self._ended is None or self._ended.is_gone:
                sizes = f"{gigabytes(needed)}, but {gigabytes(free)} are free"
                raise disk_full(f"the next turn needs {sizes}")
            time.sleep(LOOK_S)

    def _started(self, point: ResolvedPoint, new: New) -> PrivateServer:
        self._refuse_full_disk(point, new)
        data = None
        if point.tables:
            data, self.load_s = self.data.data_for(point, new)
        server = start_private(new.spec, self._connections, data=data, placement=new.placement)
        if data is not None:
            self.notes.append(f"data restored from {data.key} ({data.bytes / 1e6:.0f} MB)")
        if self._ended is not None and not self._ended.is_gone:  # which takes disk time, too
            self.notes.append(
                "the previous server was still being removed when this one had started"
            )
        return server

    def _with_cache(self, point: ResolvedPoint, server: PrivateServer) -> PrivateServer:
        tables = [table.name for table in point.tables]
        if self._spec.cache == "warm" and tables:
            with (
                connect_to(server) as connected,
                connected.target.understood("warm the caches"),
            ):
                self.notes.append(f"cache: {server.warm(connected.control, tables)}")
        if self._spec.cache != "cold":
            return server
        # What a run looks at and vacuums before its load would be in the caches again.
        with connect_to(server) as connected:
            self.found = find_data(point.job, self._tools, self._observer, connected)
        server, note = server.cooled()
        self.notes.append(f"cache: {note}")
        return server
