"""A clock that stands still while code runs, and jumps when it sleeps."""

from dbdyno.telemetry.load_clock import LoadClock


class Clock:
    """Replaces the module ``time`` in the code under test."""

    def __init__(self) -> None:
        self.now_ns = 10**9

    def monotonic_ns(self) -> int:
        return self.now_ns

    def thread_time_ns(self) -> int:
        return 0


class ClockTicker(LoadClock):
    """Sleeps by moving the clock; the load ends at ``end_ns``."""

    def __init__(self, clock: Clock, end_ns: int) -> None:
        super().__init__()
        self._clock = clock
        self._end_ns = end_ns

    def sleep_until(self, at_ns: int) -> bool:
        self._clock.now_ns = max(self._clock.now_ns, at_ns)
        return self._clock.now_ns < self._end_ns
