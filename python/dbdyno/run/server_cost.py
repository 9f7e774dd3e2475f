"""What the load cost on the server's side, where its processes can be seen from here."""

from dbdyno.host.processes import cpu_us
from dbdyno.model.frame import Done, Interval


class ServerCost:
    """Reads the processor time of a server's processes as the run goes by."""

    def __init__(self, process_id: int | None) -> None:
        self._process_id = process_id
        self._at_begin = self._now()
        self._at_end = self._at_begin

    def note(self, interval: Interval) -> None:
        """An interval has just ended: until the warm-up is over, the measuring begins here."""
        if interval.phase == "warmup":
            self._at_begin = self._now()
        if interval.phase != "drain":
            self._at_end = self._now()

    def _now(self) -> int | None:
        return None if self._process_id is None else cpu_us(self._process_id)

    def per_transaction_us(self, done: Done) -> float | None:
        """User and system time by committed transaction; None where it could not be read."""
        if self._at_begin is None or self._at_end is None or not done.counters.ok:
            return None
        return (self._at_end - self._at_begin) / done.counters.ok
