"""When sources are read: the last time under load early enough to be over before it ends."""

import threading
import time

import pytest

from dbdyno.model.frame import Started
from dbdyno.model.source import Source
from dbdyno.telemetry.reading import Here, Reader
from dbdyno.telemetry.teller import Teller
from dbdyno.telemetry.ticking import Ticker

MS_NS = 10**6
LOAD_MS = 600


@pytest.mark.parametrize(("takes_ms", "early_ms"), [(0, 25), (100, 200)])
def test_the_last_reading_begins_by_how_long_the_first_took(takes_ms: int, early_ms: int) -> None:
    begun_ns: list[int] = []

    def read(_origin: None) -> dict[str, dict[str, float]]:
        begun_ns.append(time.monotonic_ns())
        time.sleep(takes_ms / 1e3)
        return {}

    ticker = Ticker()
    teller = Teller(lambda _frame: None, lambda _line: None)
    reader = Reader(Here(None), [Source(name="slow", read=read)], teller)
    now_ns = time.monotonic_ns()
    end_ns = now_ns + LOAD_MS * MS_NS
    over = threading.Timer(LOAD_MS / 1e3, ticker.end)
    over.start()
    reader.follow(Started(now_ns, time.time_ns(), now_ns, end_ns), ticker)
    over.join()
    last_ms = (end_ns - begun_ns[1]) / MS_NS
    assert early_ms - 20 < last_ms < early_ms + 20  # it woke late, or the first took longer
