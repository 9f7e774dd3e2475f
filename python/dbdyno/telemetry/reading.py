"""Reads sources of numbers at their times: those of the server on a line, the machine's here.

A source that fails is said to lack, and tried again at its next time. All times stand on one
grid of whole seconds from the end of the warm-up, so that readings fall on the ends of the
run's intervals. Every source, however dear, is read as the measuring begins and just before it
ends, so that the warm-up is told apart; and once sessions leave, what they publish late would
all fall into the last second.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from dbdyno.model.frame import Started
from dbdyno.model.source import Source
from dbdyno.model.telemetry import Counts
from dbdyno.telemetry.differences import Differences, Reading
from dbdyno.telemetry.line import Unavailable
from dbdyno.telemetry.teller import Teller, told
from dbdyno.telemetry.ticking import Ticker

Origin = TypeVar("Origin")
Origin_co = TypeVar("Origin_co", covariant=True)

GRID_NS = 1_000_000_000
BEFORE_END_MIN_NS, BEFORE_END_MAX_NS = 25_000_000, 500_000_000
"""Within these, so long that a reading of all sources is over while the load is still on."""


class Way(Protocol[Origin_co]):
    """How the origin of some sources is reached; ``openings`` counts how often it was anew."""

    openings: int

    def ask(self, read: Callable[[Origin_co], Reading]) -> Reading:
        """What is read there."""


class Here(Generic[Origin]):
    """The way to the machine that we are on."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self.openings = 1

    def ask(self, read: Callable[[Origin], Reading]) -> Reading:
        """What is read here."""
        return read(self._origin)


class _Followed(Generic[Origin]):
    """One source, its last reading, and when it is to be read again."""

    def __init__(self, source: Source[Origin]) -> None:
        self.source = source
        self.differences = Differences(source.name, source.levels)
        self.due_ns = 0
        self.openings = 0


class Reader(Generic[Origin]):
    """Follows sources from the load's begin to its end."""

    def __init__(self, way: Way[Origin], sources: Sequence[Source[Origin]], teller: Teller) -> None:
        self._way = way
        self._followed = [_Followed(source) for source in sources]
        self._teller = teller

    def follow(self, started: Started, ticker: Ticker) -> None:
        """Reads until the ticker ends."""
        instants = _Instants(started)
        at_ns = time.monotonic_ns()
        self.read_all()
        now_ns = instants.over(at_ns)
        while ticker.sleep_until(at_ns := instants.after(now_ns)):
            is_for_all = instants.is_for_all(at_ns)
            self._read(its for its in self._followed if is_for_all or its.due_ns <= at_ns)
            now_ns = instants.over(at_ns)

    def read_all(self) -> None:
        """Reads every source now."""
        self._read(self._followed)

    def _read(self, due: Iterable[_Followed[Origin]]) -> None:
        counts = []
        for its in due:
            began_ns, cpu_began_ns = time.monotonic_ns(), time.thread_time_ns()
            try:
                reading = self._way.ask(its.source.read)
            except Unavailable as gone:
                self._teller.gone(str(gone))
                continue
            except Exception as error:  # whatever it is, the run goes on
                self._teller.lack(its.source.name, told(error))
            else:
                counts.append(self._counts(its, reading, began_ns))
            cost_s = (time.thread_time_ns() - cpu_began_ns) / 1e9
            its.due_ns = began_ns + int(its.source.next_in_s(cost_s) * 1e9) - GRID_NS // 2
        self._teller.tell(*counts)

    def _counts(self, its: _Followed[Origin], reading: Reading, began_ns: int) -> Counts:
        if its.openings not in (0, self._way.openings):
            its.differences.forget()
        its.openings = self._way.openings
        cost_us = (time.monotonic_ns() - began_ns) // 1000
        return its.differences.take(began_ns, reading, cost_us)


class _Instants:
    """When to read: on the grid, and a last time under load between two of its instants.

    So early that this is over before the load is: sessions that leave meanwhile make a reading of
    their processes begin anew.
    """

    def __init__(self, started: Started) -> None:
        self._begin_ns = started.measure_begin_ns
        self._end_ns = started.measure_end_ns
        self._longest_ns = 0
        self._last_ns: int | None = None

    def over(self, at_ns: int) -> int:
        """Now: what was due at an instant has been read, late and slowly on a busy machine."""
        now_ns = max(time.monotonic_ns(), at_ns)
        self._longest_ns = max(self._longest_ns, now_ns - at_ns)
        return now_ns

    def after(self, now_ns: int) -> int:
        """The next."""
        on_grid = self._begin_ns + ((now_ns - self._begin_ns) // GRID_NS + 1) * GRID_NS
        if self._last_ns is None and self._end_ns is not None and now_ns < self._end_ns:
            early_ns = min(max(2 * self._longest_ns, BEFORE_END_MIN_NS), BEFORE_END_MAX_NS)
            last_ns = max(self._end_ns - early_ns, now_ns)
            if last_ns <= on_grid:
                self._last_ns = last_ns
                return last_ns
        return on_grid

    def is_for_all(self, at_ns: int) -> bool:
        """Whether every source is read then."""
        return at_ns in {self._begin_ns, self._last_ns}
