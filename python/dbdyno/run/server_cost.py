"""What the load cost on the server's side, where its processes can be seen from here.

Their processor time is read twice, as the measuring begins and as it ends: reading that of
ten thousand processes each second would be a load of its own.
"""

from dbdyno.host.processes import cpu_us
from dbdyno.model.frame import Done, Interval, Started


class ServerCost:
    """Follows one run; ``process_id`` is the server's first process, None when it is elsewhere."""

    def __init__(self, process_id: int | None) -> None:
        self._process_id = process_id
        self._begin_ns = 0
        self._end_ns: int | None = None
        self._at_begin: int | None = None
        self._at_end: int | None = None

    def started(self, started: Started) -> None:
        """The load begins; without a warm-up, the measuring too."""
        self._begin_ns = started.measure_begin_ns
        self._end_ns = started.measure_end_ns
        self._at_begin = self._now()

    def interval(self, interval: Interval) -> None:
        """An interval has just ended, and with it perhaps the warm-up or the measuring."""
        half_ns = (interval.end_ns - interval.begin_ns) // 2
        reached_ns = interval.end_ns + half_ns
        if interval.phase == "warmup" and reached_ns > self._begin_ns:
            self._at_begin = self._now()
        is_over = interval.phase == "drain" or (self._end_ns and reached_ns > self._end_ns)
        if is_over and self._at_end is None:
            self._at_end = self._now()

    def per_transaction_us(self, done: Done) -> float | None:
        """User and system time by committed transaction; None where it could not be read."""
        at_end = self._now() if self._at_end is None else self._at_end
        if self._at_begin is None or at_end is None or not done.counters.ok:
            return None
        return (at_end - self._at_begin) / done.counters.ok

    def _now(self) -> int | None:
        return None if self._process_id is None else cpu_us(self._process_id)
