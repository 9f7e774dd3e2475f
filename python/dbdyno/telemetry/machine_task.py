"""The machine's numbers while the load runs: those of the host, and of the run's processes."""

from dbdyno.host.watched import WatchedHost, host_sources
from dbdyno.model.frame import Started
from dbdyno.telemetry.reading import Here, Reader
from dbdyno.telemetry.teller import Teller
from dbdyno.telemetry.ticking import Ticker


class MachineTask:
    """Reads what this machine has."""

    name = "machine"

    def __init__(self, host: WatchedHost, teller: Teller) -> None:
        self._host = host
        self._teller = teller
        self._reader = Reader(Here(host), (), teller)

    def prepare(self) -> None:
        """Finds what can be read."""
        sources, missing = host_sources(self._host)
        for lack in missing:
            self._teller.lack(lack.source, lack.reason)
        self._reader = Reader(Here(self._host), sources, self._teller)

    def watch(self, started: Started, ticker: Ticker) -> None:
        """Reads at their times."""
        self._reader.follow(started, ticker)

    def conclude(self) -> None:
        """The last reading."""
        self._reader.read_all()
