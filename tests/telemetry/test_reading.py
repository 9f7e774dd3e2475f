"""When sources are read: all before the load, as the measurement begins, and before the end."""

from collections.abc import Iterator, Sequence
from itertools import chain, repeat

import pytest

from dbdyno.model.frame import Started
from dbdyno.model.source import Source
from dbdyno.telemetry import reading
from dbdyno.telemetry.publisher import FramePublisher
from dbdyno.telemetry.reading import LocalAccess, Reader
from tests.telemetry.clock import Clock, ClockTicker

MS_NS = 10**6


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still while nothing sleeps, so that a reading takes a defined time."""
    clock = Clock()
    monkeypatch.setattr(reading, "time", clock)
    return clock


def read_at_ms(
    clock: Clock, *, warmup_ms: int, load_ms: int, takes_ms: Sequence[int] = (), every_s: float = 1
) -> list[int]:
    """Return when a source was read, in ms from the start of the measurement.

    The load begins as soon as the first reading is over. ``takes_ms`` are the durations of its
    first readings.
    """
    begin_ns = clock.now_ns + (sum(takes_ms[:1]) + warmup_ms) * MS_NS
    end_ns = begin_ns + load_ms * MS_NS
    begun_ms: list[int] = []
    take_ms: Iterator[int] = chain(takes_ms, repeat(0))

    def read(_origin: None) -> dict[str, dict[str, float]]:
        begun_ms.append((clock.now_ns - begin_ns) // MS_NS)
        clock.now_ns += next(take_ms) * MS_NS
        return {}

    publisher = FramePublisher(lambda _frames: None, lambda _line: None)
    reader = Reader(LocalAccess(None), [Source(name="slow", read=read, every_s=every_s)], publisher)
    reader.read_all()
    started = Started(clock.now_ns, 0, begin_ns, end_ns)
    reader.follow(started, ClockTicker(clock, end_ns))
    return begun_ms


@pytest.mark.parametrize(("first_ms", "early_ms"), [(0, 25), (100, 200), (400, 500)])
def test_the_last_reading_begins_by_how_long_the_first_took(
    first_ms: int, early_ms: int, clock: Clock
) -> None:
    found = read_at_ms(clock, warmup_ms=0, load_ms=950, takes_ms=[first_ms])
    assert found == [-first_ms, 950 - early_ms]


def test_a_reading_that_was_slower_under_load_brings_the_last_one_forward(clock: Clock) -> None:
    found = read_at_ms(clock, warmup_ms=0, load_ms=1900, takes_ms=[0, 150])
    assert found == [0, 1000, 1900 - 300]


def test_the_last_reading_comes_at_once_where_the_one_before_it_took_its_time(clock: Clock) -> None:
    found = read_at_ms(clock, warmup_ms=0, load_ms=1900, takes_ms=[0, 700])
    assert found == [0, 1000, 1700]


def test_a_rarely_read_source_separates_the_warmup(clock: Clock) -> None:
    found = read_at_ms(clock, warmup_ms=1500, load_ms=2500, every_s=100)
    assert found == [-1500, 0, 2475]


def test_the_begin_is_read_where_all_of_the_measuring_is_just_before_the_end(clock: Clock) -> None:
    found = read_at_ms(clock, warmup_ms=100, load_ms=10)
    assert found == [-100, -15, 0]
