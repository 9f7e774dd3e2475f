"""Reports an outage while it lasts: once when it begins, and once when it is over.

Each thread of the engine reports its own connections, and some may be lost twice when a server
restarts. Users see this as one outage; so do the findings. Nothing that is counted here goes into
the record, which keeps the reports of each thread as they came.
"""

from collections.abc import Callable, Sequence

from dbdyno.formatting import counted, seconds
from dbdyno.model.frame import Done, Frame, Interval, Outage, OutageBegun

# Losses that follow each other this closely are one outage.
QUIET_NS = 1_000_000_000


class OutageReporter:
    """Combines the outage reports of the engine's threads."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._threads = 0
        """Number of threads with lost connections."""
        self._outages: list[Outage] = []
        """The reports on the present outage."""
        self._is_out = False
        """Whether its beginning has been reported, and not yet its end."""

    def take(self, frame: Frame) -> None:
        """Take a frame of the engine."""
        match frame:
            case OutageBegun():
                self._begun(frame)
            case Outage():
                self._threads -= 1
                self._outages.append(frame)
            case Interval():
                self._go_on(frame.end_ns)
            case Done():
                self._finish()
            case _:
                pass

    def _begun(self, frame: OutageBegun) -> None:
        """Note that a thread has lost a connection."""
        self._threads += 1
        if not self._is_out:
            self._is_out = True
            self._report(f"connections lost: {frame.message}; clients try to reconnect")

    def _go_on(self, now_ns: int) -> None:
        """Note the time: the outage may be over."""
        ends_ns = [now_ns if outage.end_ns is None else outage.end_ns for outage in self._outages]
        if ends_ns and not self._threads and now_ns - max(ends_ns) >= QUIET_NS:
            self._finish()

    def _finish(self) -> None:
        """Report the end of the outage, or of the run."""
        if self._is_out and self._outages:
            self._report(_summary(self._outages))
        self._is_out = False
        self._outages = []


def _summary(outages: Sequence[Outage]) -> str:
    """Describe an outage from its first loss, not its first report, to its last reconnection."""
    lost = sum(outage.connections_lost for outage in outages)
    missing = sum(outage.connections_lost for outage in outages if outage.end_ns is None)
    if missing:
        who = "and" if missing == lost else f"{missing} of them"
        return f"{counted(lost, 'connection')} lost, {who} not restored when the run ended"
    begin_ns = min(outage.begin_ns for outage in outages)
    end_ns = max(outage.end_ns for outage in outages if outage.end_ns is not None)
    away = seconds((end_ns - begin_ns) / 1e9)
    return f"reconnected after {away}: {counted(lost, 'connection')} lost"
