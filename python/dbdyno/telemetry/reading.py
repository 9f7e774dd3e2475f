"""Reads sources of numbers at their times: those of the server on a line, the machine's here.

A source that fails is said to lack, and tried again at its next time. All times stand on one
grid of whole seconds from the end of the warm-up, so that readings fall on the ends of the
run's intervals; and every source is read just before the measuring ends, wherever that is:
once sessions leave, what they publish late would all fall into the last second.
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
        began_ns = time.monotonic_ns()
        self.read_all()
        now_ns = time.monotonic_ns()
        last_ns = _last_instant(started, now_ns - began_ns)
        while ticker.sleep_until(at_ns := _next_instant(now_ns, started, last_ns)):
            is_last = at_ns == last_ns
            self._read(its for its in self._followed if is_last or its.due_ns <= at_ns)
            now_ns = max(time.monotonic_ns(), at_ns)

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


def _next_instant(now_ns: int, started: Started, last_ns: int | None) -> int:
    """The next on the grid, or the last under load if that comes before."""
    begin_ns = started.measure_begin_ns
    on_grid = begin_ns + ((now_ns - begin_ns) // GRID_NS + 1) * GRID_NS
    return last_ns if last_ns is not None and now_ns < last_ns < on_grid else on_grid


def _last_instant(started: Started, took_ns: int) -> int | None:
    """When to read last under load, where a reading of all took so long; None without an end.

    Early enough: sessions that leave meanwhile make a reading of their processes begin anew.
    """
    if started.measure_end_ns is None:
        return None
    return started.measure_end_ns - min(max(2 * took_ns, BEFORE_END_MIN_NS), BEFORE_END_MAX_NS)
