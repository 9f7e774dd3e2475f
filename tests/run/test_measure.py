"""The engine's frames are read to the end, whatever happens meanwhile."""

import signal
import threading
import time
from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Failed, Frame, Hello, Note, Outage, OutageBegun
from dbdyno.run import measure as measuring
from dbdyno.run.measure import Measured, measure
from dbdyno.run.observer import Observer as RunObserver
from dbdyno.run.silence import Watchdog
from tests.support.frames import done, interval, started
from tests.support.patience import PATIENCE_S, wait_until
from tests.support.plans import ENDPOINT, plan_of


class Engine:
    """Plays frames; a frame that is callable is called instead."""

    def __init__(self, *frames) -> None:
        self.frames = frames
        self.calls: list[str] = []

    def __iter__(self):
        for number, frame in enumerate(self.frames):
            if "kill" in self.calls:
                return
            if callable(frame):
                frame()
            else:
                yield str(number).encode(), frame

    def stop(self) -> None:
        self.calls.append("stop")

    def served_by(self, tasks: Mapping[int, int]) -> None:
        self.calls.append(f"served by {tasks}")

    def awaited(self) -> str:
        return "worker h3 did not begin"

    def kill(self) -> None:
        self.calls.append("kill")

    def abandon(self) -> None:
        self.calls.append("abandon")


class Observer(RunObserver):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def say(self, text: str) -> None:
        self.seen.append(text)

    def started(self, plan, frame) -> None:
        self.seen.append("started")

    def interval(self, frame) -> None:
        self.seen.append(f"interval {frame.index}")


def run(engine: Engine) -> tuple[Measured, Observer, list[tuple[bytes, type]], list[str]]:
    observer, kept, logged = Observer(), [], []

    def keep(raw: bytes, frame: Frame) -> None:
        kept.append((raw, type(frame)))

    measured = measure(engine, plan_of(), observer, keep, logged.append)
    return measured, observer, kept, logged


def test_numbers_that_contradict_each_other_are_not_believed():
    wrong = replace(interval(0).counters, in_flight=1)
    engine = Engine(started(), replace(interval(0), counters=wrong))
    with pytest.raises(DbdynoError, match="started = ok") as refused:
        run(engine)
    assert refused.value.code == "identity"
    assert engine.calls == ["abandon"]


def test_every_frame_is_passed_on_and_each_finds_its_place():
    hello = Hello(1, "epoll", "", 2, 2, [], ["a warning"])
    note = Note(0, "server", "vacuum")
    outage = Outage(0, 2_500_000_000, 8, "terminated")
    begun = OutageBegun(0, "terminated")
    frames = [hello, started(), interval(0), note, begun, outage, interval(1), done()]

    measured, observer, kept, logged = run(Engine(*frames))

    assert kept == [(str(n).encode(), type(frame)) for n, frame in enumerate(frames)]
    lost = "connections lost: terminated; clients try to reconnect"
    again = "reconnected after 2.5\u202fs: 8 connections lost"
    assert observer.seen == ["started", "interval 0", lost, "interval 1", again]
    assert logged == ["engine: a warning", "server: vacuum", lost, again]
    assert measured.hello == hello
    assert measured.last.index == 1
    assert measured.done.end == "complete"
    assert measured.has_begun


def test_an_engine_that_cannot_begin():
    failed = Failed("unreachable", "no route", "look at the network")
    measured, *_ = run(Engine(failed))
    assert measured.failed == failed
    assert not measured.has_begun


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def test_the_first_interrupt_requests_the_end():
    before = signal.getsignal(signal.SIGINT)
    engine = Engine(started(), interrupt, interval(0), done("interrupted"))
    measured, *_ = run(engine)

    assert engine.calls == ["stop"]
    assert measured.was_interrupted
    assert signal.getsignal(signal.SIGINT) is before


def test_a_further_interrupt_ends_the_engine_and_the_run_is_interrupted_nonetheless():
    def twice_more() -> None:
        interrupt()
        interrupt()

    engine = Engine(started(), interrupt, interval(0), twice_more, done("interrupted"))
    measured, *_ = run(engine)

    assert engine.calls == ["stop", "kill", "kill"]
    assert measured.done is None
    assert measured.was_interrupted


def test_an_interrupt_that_came_too_late_changes_nothing():
    measured, *_ = run(Engine(started(), interval(0), interrupt, done("complete")))
    assert not measured.was_interrupted


def test_elsewhere_than_in_the_main_thread_signals_are_left_alone():
    results: list[Frame] = []
    thread = threading.Thread(target=lambda: results.append(run(Engine(done()))[0].done))
    thread.start()
    thread.join()
    assert results[0].end == "complete"


def test_silence_ends_the_engine():
    ended = threading.Event()
    with Watchdog(ended.set, limit_s=0.05) as watchdog:
        assert ended.wait(PATIENCE_S)
    assert watchdog.has_fired


def naps(*deeds: Callable[[Watchdog], None], limit_s: float = 4) -> bool:
    """Whether a watchdog bites when one of ``deeds`` is done in each of its naps."""
    left = iter(deeds)

    def sleep(_over: threading.Event, _seconds: float) -> bool:
        deed = next(left, None)
        if deed is not None:
            deed(watchdog)
        return deed is None

    watchdog = Watchdog(lambda: None, limit_s, sleep)
    with watchdog:
        pass
    return watchdog.has_fired


def silence(_watchdog: Watchdog) -> None:
    pass


def sign(watchdog: Watchdog) -> None:
    with watchdog.reading():
        pass


def test_signs_keep_the_watchdog_quiet():
    assert naps(*[silence] * 4)
    assert not naps(*[sign, silence, silence, silence] * 3)


def test_another_patience_once_it_has_begun():
    assert naps(lambda watchdog: watchdog.allow(2), silence, silence)
    assert not naps(lambda watchdog: watchdog.allow(20), *[silence] * 9)


def test_a_process_that_was_stopped_has_not_listened():
    assert not naps(lambda _watchdog: time.sleep(0.1), limit_s=0.04)


def test_whom_the_others_wait_for_is_noted_when_the_engine_is_ended(monkeypatch):
    monkeypatch.setattr(measuring, "SILENCE_MIN_S", 0.1)
    plan = replace(plan_of(), stall_limit_ns=0, endpoint=replace(ENDPOINT, connect_timeout_ns=0))
    engine = Engine(lambda: wait_until(lambda: "kill" in engine.calls, "the engine is ended"))
    measured = measure(engine, plan, Observer(), lambda *_: None, lambda _: None)
    assert measured.was_silent
    assert measured.awaited == "worker h3 did not begin"


def test_handling_a_frame_does_not_count_as_silence(monkeypatch):
    monkeypatch.setattr(measuring, "SILENCE_MIN_S", 0.2)
    monkeypatch.setattr(measuring, "SILENCE_INTERVALS", 0.2)
    engine = Engine(started(), done())
    measured = measure(engine, plan_of(), Observer(), lambda *_: time.sleep(0.5), lambda _: None)
    assert not measured.was_silent
    assert measured.done is not None
