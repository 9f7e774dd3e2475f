"""When sources are read: the last time under load early enough to be over before it ends."""

import pytest

from dbdyno.model.frame import Started
from dbdyno.model.source import Source
from dbdyno.telemetry import reading
from dbdyno.telemetry.reading import Here, Reader
from dbdyno.telemetry.teller import Teller
from tests.telemetry.clock import Clock, ClockTicker

MS_NS = 10**6
LOAD_MS = 600


@pytest.mark.parametrize(("takes_ms", "early_ms"), [(0, 25), (100, 200)])
def test_the_last_reading_begins_by_how_long_the_first_took(
    takes_ms: int, early_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(reading, "time", clock)
    begun_ns: list[int] = []

    def read(_origin: None) -> dict[str, dict[str, float]]:
        begun_ns.append(clock.now_ns)
        clock.now_ns += takes_ms * MS_NS
        return {}

    teller = Teller(lambda _frames: None, lambda _line: None)
    reader = Reader(Here(None), [Source(name="slow", read=read)], teller)
    end_ns = clock.now_ns + LOAD_MS * MS_NS
    started = Started(clock.now_ns, 0, clock.now_ns, end_ns)
    reader.follow(started, ClockTicker(clock, end_ns))
    assert [end_ns - at_ns for at_ns in begun_ns] == [LOAD_MS * MS_NS, early_ms * MS_NS]
