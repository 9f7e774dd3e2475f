"""The clock that telemetry uses while it is switched on and off."""

import threading
import time
from contextlib import suppress

from hypothesis import given, strategies as st

from bench.standing_clock import StandingClock, freeze_clock
from dbdyno.telemetry.load_clock import LoadClock

BEGIN_NS, BLOCK_NS = 1000, 10


def _clock(*turns: bool) -> StandingClock:
    clock = StandingClock(turns, BLOCK_NS)
    clock.begin(BEGIN_NS)
    return clock


def test_it_is_paused_in_the_blocks_of_others_and_runs_before_and_after():
    clock = _clock(True, False, False, True, False)
    shown = [(at, clock.shown_ns(BEGIN_NS + at) - BEGIN_NS) for at in range(-5, 65, 10)]
    assert shown == [(-5, -5), (5, 5), (15, 10), (25, 10), (35, 15), (45, 20), (55, 25)]
    assert [at for at, _ in shown if clock.goes(BEGIN_NS + at)] == [-5, 5, 35, 55]


def test_a_time_within_a_pause_is_reached_when_the_clock_resumes():
    clock = _clock(True, False, True, False)
    due = [clock.real_ns(BEGIN_NS + at) - BEGIN_NS for at in (-5, 0, 5, 10, 15, 20, 25)]
    assert due == [-5, 0, 5, 20, 25, 40, 45]


@given(st.lists(st.booleans(), max_size=8), st.integers(-20, 120))
def test_it_shows_each_instant_once_while_it_runs(turns: list[bool], at: int):
    clock = _clock(*turns)
    real_ns = clock.real_ns(BEGIN_NS + at)
    assert clock.goes(real_ns)
    assert clock.shown_ns(real_ns) == BEGIN_NS + at


def test_before_it_has_begun_it_is_the_machines():
    clock = StandingClock([False], BLOCK_NS)
    assert clock.shown_ns(5) == clock.real_ns(5) == 5
    assert clock.goes(5)


def test_a_sleep_continues_through_the_blocks_of_others():
    clock = StandingClock([False, True, False, False, True], 20_000_000)
    load_clock, began_ns = LoadClock(), time.monotonic_ns()
    clock.begin(began_ns)
    for shown_ms, real_ms in ((0, 20), (10, 30), (20, 80)):
        with freeze_clock(clock):
            assert load_clock.sleep_until(began_ns + shown_ms * 1_000_000)
            assert time.monotonic_ns() >= began_ns + shown_ms * 1_000_000
        assert time.monotonic_ns() >= began_ns + real_ms * 1_000_000


def test_a_load_that_is_over_wakes_all_who_sleep():
    load_clock = LoadClock()
    with freeze_clock(StandingClock([False], BLOCK_NS)):
        threading.Timer(0.02, load_clock.end).start()
        assert not load_clock.sleep_until(time.monotonic_ns() + 60 * 10**9)


def test_it_is_taken_down_again():
    before = time.monotonic_ns, time.monotonic, LoadClock.sleep_until
    with suppress(KeyboardInterrupt), freeze_clock(StandingClock([], BLOCK_NS)):
        assert time.monotonic_ns is not before[0]
        raise KeyboardInterrupt
    assert (time.monotonic_ns, time.monotonic, LoadClock.sleep_until) == before
