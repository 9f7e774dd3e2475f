"""Tells of an outage while it lasts: once when it begins, and once when it is over.

Each thread of the engine tells of its own connections, and a server that restarts may lose some
twice. For people that is one outage; the findings call it one, too. Nothing is counted here that
the record needs: there each thread's words are kept as they came.
"""

from collections.abc import Callable, Sequence

from dbdyno.model.frame import Done, Frame, Interval, Outage, OutageBegun
from dbdyno.words import counted, seconds

# Losses that follow each other this closely are one outage.
QUIET_NS = 1_000_000_000


class OutageTeller:
    """Puts together what the engine's threads tell of outages."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._threads = 0
        """How many are without a connection that they had."""
        self._told: list[Outage] = []
        """What they told of the present outage."""
        self._is_out = False
        """Whether people know of it, and not yet of its end."""

    def take(self, frame: Frame) -> None:
        """Whatever the engine says."""
        match frame:
            case OutageBegun():
                self._begun(frame)
            case Outage():
                self._threads -= 1
                self._told.append(frame)
            case Interval():
                self._go_on(frame.end_ns)
            case Done():
                self._finish()
            case _:
                pass

    def _begun(self, frame: OutageBegun) -> None:
        """A thread has lost a connection."""
        self._threads += 1
        if not self._is_out:
            self._is_out = True
            self._tell(f"connections lost: {frame.message}; clients try to reconnect")

    def _go_on(self, now_ns: int) -> None:
        """Time has passed: the outage may be over."""
        ends_ns = [now_ns if outage.end_ns is None else outage.end_ns for outage in self._told]
        if ends_ns and not self._threads and now_ns - max(ends_ns) >= QUIET_NS:
            self._finish()

    def _finish(self) -> None:
        """The outage is over, or the run is."""
        if self._is_out and self._told:
            self._tell(_whole(self._told))
        self._is_out = False
        self._told = []


def _whole(told: Sequence[Outage]) -> str:
    """From the first loss, which need not be the first heard of, to the last connection had."""
    lost = sum(outage.connections_lost for outage in told)
    missing = sum(outage.connections_lost for outage in told if outage.end_ns is None)
    if missing:
        who = "and" if missing == lost else f"{missing} of them"
        return f"{counted(lost, 'connection')} lost, {who} not restored when the run ended"
    begin_ns = min(outage.begin_ns for outage in told)
    end_ns = max(outage.end_ns for outage in told if outage.end_ns is not None)
    away = seconds((end_ns - begin_ns) / 1e9)
    return f"reconnected after {away}: {counted(lost, 'connection')} lost"
