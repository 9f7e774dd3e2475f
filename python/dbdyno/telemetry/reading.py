"""Reads sources of numbers when they are due: the server's on a connection, the host's locally.

A source that fails is reported as missing, and retried when it is next due. Every source is read
once before the load, and once after it by its task. All readings in between are on one grid of
whole seconds from the end of the warm-up, so that they fall on the ends of the run's measurement
intervals. Every source, however expensive, is read as the measurement begins and just before it
ends. This separates the warm-up, and keeps what sessions publish late, as they disconnect, out of
the last second.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from dbdyno.model.frame import Started
from dbdyno.model.source import Source
from dbdyno.model.telemetry import Counts
from dbdyno.telemetry.differences import Differences, Reading, finite_numbers
from dbdyno.telemetry.load_clock import LoadClock
from dbdyno.telemetry.publisher import FramePublisher, error_line
from dbdyno.telemetry.telemetry_connection import Unavailable

Origin = TypeVar("Origin")
Origin_co = TypeVar("Origin_co", covariant=True)

GRID_NS = 1_000_000_000
BEFORE_END_MIN_NS, BEFORE_END_MAX_NS = 25_000_000, 500_000_000
"""The limits of the time reserved for reading all sources before the load ends."""


class SourceAccess(Protocol[Origin_co]):
    """Access to the origin of some sources; ``openings`` counts how often it was opened."""

    openings: int

    def call(self, read: Callable[[Origin_co], Reading]) -> Reading:
        """Read from the origin."""


class LocalAccess(Generic[Origin]):
    """Access to the local host, which is always open."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self.openings = 1

    def call(self, read: Callable[[Origin], Reading]) -> Reading:
        """Read from this host."""
        return read(self._origin)


class _ScheduledSource(Generic[Origin]):
    """A source, its last reading, and when it is due to be read again."""

    def __init__(self, source: Source[Origin]) -> None:
        self.source = source
        self.differences = Differences(source.name, source.levels)
        self.due_ns = 0
        self.openings = 0


class Reader(Generic[Origin]):
    """Follows sources from the start of the load to its end."""

    def __init__(
        self,
        access: SourceAccess[Origin],
        sources: Sequence[Source[Origin]],
        publisher: FramePublisher,
    ) -> None:
        self._access = access
        self._scheduled = [_ScheduledSource(source) for source in sources]
        self._publisher = publisher
        self._took_ns = 0

    def follow(self, started: Started, load_clock: LoadClock) -> None:
        """Read each source when it is due until the load ends."""
        instants = _Instants(started, self._took_ns)
        now_ns = time.monotonic_ns()
        while load_clock.sleep_until(at_ns := instants.after(now_ns)):
            is_for_all = instants.is_for_all(at_ns)
            self._read(
                scheduled
                for scheduled in self._scheduled
                if is_for_all or scheduled.due_ns <= at_ns
            )
            now_ns = instants.over(at_ns)

    def read_all(self) -> None:
        """Read every source now."""
        began_ns = time.monotonic_ns()
        self._read(self._scheduled)
        self._took_ns = time.monotonic_ns() - began_ns

    def _read(self, due: Iterable[_ScheduledSource[Origin]]) -> None:
        counts = []
        for scheduled in due:
            began_ns, cpu_began_ns = time.monotonic_ns(), time.thread_time_ns()
            try:
                answer = self._access.call(scheduled.source.read)
                counts.append(self._counts(scheduled, answer, began_ns))
            except Unavailable as unavailable:
                self._publisher.publish_unavailable(str(unavailable))
                continue
            except Exception as error:  # the run continues, whatever the error
                self._publisher.publish_lack(scheduled.source.name, error_line(error))
            cost_s = (time.thread_time_ns() - cpu_began_ns) / 1e9
            scheduled.due_ns = (
                began_ns + int(scheduled.source.next_in_s(cost_s) * 1e9) - GRID_NS // 2
            )
        self._publisher.publish(*counts)

    def _counts(
        self, scheduled: _ScheduledSource[Origin], answer: Reading, began_ns: int
    ) -> Counts:
        reading, odd = finite_numbers(answer)
        for name in sorted(odd):
            reason = f"{name} was of another kind than expected, and is left out"
            self._publisher.publish_lack(scheduled.source.name, reason)
        if scheduled.openings not in (0, self._access.openings):
            scheduled.differences.forget()
        scheduled.openings = self._access.openings
        cost_us = (time.monotonic_ns() - began_ns) // 1000
        return scheduled.differences.take(began_ns, reading, cost_us)


class _Instants:
    """When to read: on the grid, and once more just before the end of the measurement.

    That last reading is early enough to finish while the load runs: sessions that disconnect
    meanwhile would make a reading of their processes start again.
    """

    def __init__(self, started: Started, longest_ns: int) -> None:
        self._begin_ns = started.measure_begin_ns
        self._end_ns = started.measure_end_ns
        self._longest_ns = longest_ns
        self._last_ns: int | None = None

    def over(self, at_ns: int) -> int:
        """Return the present time after a reading, and remember the longest delay."""
        now_ns = max(time.monotonic_ns(), at_ns)
        self._longest_ns = max(self._longest_ns, now_ns - at_ns)
        return now_ns

    def after(self, now_ns: int) -> int:
        """Return the next instant."""
        on_grid = self._begin_ns + ((now_ns - self._begin_ns) // GRID_NS + 1) * GRID_NS
        if self._last_ns is None and self._end_ns is not None and now_ns < self._end_ns:
            early_ns = min(max(2 * self._longest_ns, BEFORE_END_MIN_NS), BEFORE_END_MAX_NS)
            last_ns = max(self._end_ns - early_ns, now_ns)
            if last_ns <= on_grid:
                self._last_ns = last_ns
                return last_ns
        return on_grid

    def is_for_all(self, at_ns: int) -> bool:
        """Whether every source is read at this instant."""
        return at_ns in {self._begin_ns, self._last_ns}
