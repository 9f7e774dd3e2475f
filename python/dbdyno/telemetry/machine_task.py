"""Reads the numbers of the host and of the run's processes while the load runs."""

from dbdyno.host.observed_host import ObservedHost, host_sources
from dbdyno.model.frame import Started
from dbdyno.telemetry.load_clock import LoadClock
from dbdyno.telemetry.publisher import FramePublisher
from dbdyno.telemetry.reading import LocalAccess, Reader


class MachineTask:
    """Reads this host's sources."""

    name = "machine"

    def __init__(self, host: ObservedHost, publisher: FramePublisher) -> None:
        self._host = host
        self._publisher = publisher
        self._reader = Reader(LocalAccess(host), (), publisher)

    def prepare(self) -> None:
        """Find out which sources can be read."""
        sources, missing = host_sources(self._host)
        for lack in missing:
            self._publisher.publish_lack(lack.source, lack.reason)
        self._reader = Reader(LocalAccess(self._host), sources, self._publisher)

    def watch(self, started: Started, load_clock: LoadClock) -> None:
        """Read each source when it is due."""
        self._reader.follow(started, load_clock)

    def conclude(self) -> None:
        """Read every source one last time."""
        self._reader.read_all()
