"""Reads the numbers of the host and of the run's processes while the load runs.

The last reading waits until the processes of the load's sessions have ended: some of what they use
at their end would otherwise be in it by chance.
"""

import time
from collections.abc import Callable, Collection

from dbdyno.host.observed_host import ObservedHost, host_sources
from dbdyno.host.processes import running_ns
from dbdyno.model.frame import Started
from dbdyno.telemetry.load_clock import LoadClock
from dbdyno.telemetry.publisher import FramePublisher
from dbdyno.telemetry.reading import LocalAccess, Reader
from dbdyno.telemetry.server_task import DISCONNECT_MAX_S, POLL_S


class MachineTask:
    """Reads this host's sources; ``session_processes`` are those of the load's sessions here."""

    name = "machine"

    def __init__(
        self,
        host: ObservedHost,
        session_processes: Callable[[], Collection[int]],
        publisher: FramePublisher,
    ) -> None:
        self._host = host
        self._session_processes = session_processes
        self._publisher = publisher
        self._reader = Reader(LocalAccess(host), (), publisher)

    def prepare(self) -> None:
        """Find out which sources can be read."""
        sources, missing = host_sources(self._host)
        for lack in missing:
            self._publisher.publish_lack(lack.source, lack.reason)
        self._reader = Reader(LocalAccess(self._host), sources, self._publisher)

    def read_baseline(self) -> None:
        """Read every source a first time, with the processes of sessions that have just begun."""
        self._host.processes.listed(fresh=True)
        self._reader.read_all()

    def watch(self, started: Started, load_clock: LoadClock) -> None:
        """Read each source when it is due."""
        self._reader.follow(started, load_clock)

    def conclude(self) -> None:
        """Read every source one last time, once the load's sessions have ended."""
        deadline = time.monotonic() + DISCONNECT_MAX_S
        left = [*self._session_processes()]
        while left and time.monotonic() < deadline:
            left = [process for process in left if running_ns(self._host.root, process) is not None]
            time.sleep(POLL_S if left else 0)
        self._reader.read_all()
