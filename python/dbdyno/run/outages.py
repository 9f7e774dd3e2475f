"""Tells of an outage while it lasts: once when it begins, and once when it is over.

Each thread of the engine tells of its own connections, and a server that restarts may lose some
twice. For people that is one outage; the findings call it one, too. Nothing is counted here that
the record needs: there each thread's words are kept as they came.
"""

from collections.abc import Callable

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
        self._begin_ns: int | None = None

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
        if self._begin_ns is None:
            self._begin_ns = frame.at_ns
            self._tell(f"connections lost: {frame.message}; clients try to connect again")

    def _go_on(self, now_ns: int) -> None:
        """Time has passed: the outage may be over."""
        ends_ns = [now_ns if outage.end_ns is None else outage.end_ns for outage in self._told]
        if ends_ns and not self._threads and now_ns - max(ends_ns) >= QUIET_NS:
            self._finish()

    def _finish(self) -> None:
        """The outage is over, or the run is."""
        if self._begin_ns is not None and self._told:
            self._tell(self._whole(self._begin_ns))
        self._begin_ns = None
        self._told = []

    def _whole(self, begin_ns: int) -> str:
        """Until the engine's last thread had a connection again."""
        lost = counted(sum(outage.connections_lost for outage in self._told), "connection")
        ends_ns = [outage.end_ns for outage in self._told if outage.end_ns is not None]
        if len(ends_ns) < len(self._told):
            return f"{lost} lost, and not had again when the run ended"
        return f"connected again after {seconds((max(ends_ns) - begin_ns) / 1e9)}: {lost} lost"
