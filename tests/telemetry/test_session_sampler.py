"""What each sample stands for if some are delayed or the server does not answer."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType, SimpleNamespace

import pytest

from dbdyno.model.frame import Started
from dbdyno.telemetry import session_sampler
from dbdyno.telemetry.joining import SessionSample
from dbdyno.telemetry.pace import Pace, Stride
from dbdyno.telemetry.sample_matcher import Pair
from dbdyno.telemetry.session_sampler import SessionSampler
from dbdyno.telemetry.telemetry_connection import Unavailable
from tests.telemetry.clock import Clock, ClockTicker

MS_NS = 10**6
STEP_NS = 20 * MS_NS
PACE = Pace(interval_ns=STEP_NS, share=0.028, samples_share=0.014, steps_max=250)
BOTH, SESSIONS = object(), object()
USUAL_MS = 4
"""On two CPUs every fifth instant is then sampled."""
LOCKS_MS = 8


class Server:
    """The connection to a remote server that answers late, or not at all, at some instants."""

    def __init__(
        self,
        clock: Clock,
        held_up: Mapping[int, int],
        gone: frozenset[int],
        sample_sessions: object = None,
        locks_ms: int = 0,
    ) -> None:
        self.telemetry = SimpleNamespace(sample_with_locks=BOTH, sample_sessions=sample_sessions)
        self._clock = clock
        self._begin_ns = clock.now_ns
        self._held_up = held_up
        self._gone = gone
        self._locks_ms = locks_ms

    def call(self, question):
        instant = (self._clock.now_ns - self._begin_ns) // STEP_NS
        took_ms = USUAL_MS + (self._locks_ms if question is BOTH else 0)
        self._clock.now_ns += self._held_up.get(instant, 0) * STEP_NS + took_ms * MS_NS
        if instant in self._gone:
            raise Unavailable("no more")
        return [], []

    def served_ns(self) -> None:
        return None


def samples(
    monkeypatch: pytest.MonkeyPatch, instants: int, measured: int | None = None, **how
) -> Iterator[tuple[int, SessionSample]]:
    """Yield the samples of this many instants, each with its number."""
    clock = Clock()
    monkeypatch.setattr(session_sampler, "time", clock)
    seen: list[SessionSample] = []
    sampler = SessionSampler(
        Server(clock, **how),
        SimpleNamespace(add_sample=seen.append, pairs=list),
        None,
        Stride(PACE, 2, lambda: 0.008),
        SimpleNamespace(publish_unavailable=lambda _why: None, publish=lambda *_frames: None),
    )
    begin_ns = clock.now_ns
    end_ns = begin_ns + (instants + 1) * STEP_NS
    measure_end_ns = None if measured is None else begin_ns + measured * STEP_NS
    sampler.watch(Started(begin_ns, 0, begin_ns, measure_end_ns), ClockTicker(clock, end_ns))
    for look in seen:
        yield (look.at_ns - begin_ns) // STEP_NS, look


def steps(seconds: float) -> int:
    return round(seconds * 1e9 / STEP_NS)


def worth(
    monkeypatch: pytest.MonkeyPatch,
    held_up: Mapping[int, int] = MappingProxyType({}),
    gone: frozenset[int] = frozenset(),
) -> list[tuple[int, int]]:
    """Return the numbers of the samples of forty instants, and the instants each stands for."""
    how = {"held_up": held_up, "gone": gone}
    return [(number, steps(look.seconds)) for number, look in samples(monkeypatch, 40, **how)]


def test_looks_stand_for_all_of_the_time(monkeypatch: pytest.MonkeyPatch):
    assert worth(monkeypatch) == [
        (1, 1), (6, 5), (11, 5), (16, 5), (21, 5), (26, 5), (31, 5), (36, 5),
    ]  # fmt: skip


def test_a_sample_soon_after_a_delayed_one_stands_for_the_time_between(monkeypatch):
    """A late one stands for no more than was planned: nobody saw the rest."""
    assert worth(monkeypatch, held_up={11: 6, 26: 9}) == [
        (1, 1), (6, 5), (11, 5), (18, 5), (21, 3), (26, 5), (36, 5), (37, 1),
    ]  # fmt: skip


def test_an_unanswered_sample_has_no_weight(monkeypatch: pytest.MonkeyPatch):
    found = worth(monkeypatch, held_up={16: 2}, gone=frozenset({16}))
    assert found[3:5] == [(21, 5), (26, 5)]


def test_a_sample_that_is_answered_after_the_end_of_the_measurement_is_dropped(monkeypatch):
    """By then the server may have ended sessions that were there at the sample's instant."""
    how = {"held_up": {16: 2}, "gone": frozenset()}
    numbers = [number for number, _look in samples(monkeypatch, 40, measured=17, **how)]
    assert numbers == [1, 6, 11, 21, 26, 31, 36]
    at_the_end = [number for number, _look in samples(monkeypatch, 40, measured=21, **how)]
    assert at_the_end == [1, 6, 11, 16, 26, 31, 36]


def test_if_locks_are_expensive_a_sample_of_them_covers_the_time_since_the_last(monkeypatch):
    """Sessions, at 4 ms, at every eighth instant; locks, at 8 ms more, at about every 34th."""
    how = {"sample_sessions": SESSIONS, "held_up": {}, "gone": frozenset(), "locks_ms": LOCKS_MS}
    found = dict(samples(monkeypatch, 120, **how))
    at_locks = {
        number: steps(look.locks_seconds)
        for number, look in found.items()
        if look.locks_seconds is not None
    }
    assert at_locks == {11: 11, 43: 32, 75: 32, 115: 40}
    assert list(found)[2:] == list(range(11, 121, 8))


def test_samples_are_published_once_a_second_and_at_the_end(monkeypatch: pytest.MonkeyPatch):
    clock = Clock()
    monkeypatch.setattr(session_sampler, "time", clock)
    begin_ns, sampled_at_ms = clock.now_ns, []

    def pairs() -> list[Pair]:
        sampled_at_ms.append((clock.now_ns - begin_ns) // MS_NS)
        return []

    sampler = SessionSampler(
        Server(clock, {}, frozenset()),
        SimpleNamespace(add_sample=lambda _look: None, pairs=pairs),
        None,
        Stride(PACE, 2, lambda: 0.008),
        SimpleNamespace(publish=lambda *_frames: None),
    )
    end_ns = begin_ns + 125 * STEP_NS
    sampler.watch(Started(begin_ns, 0, begin_ns, None), ClockTicker(clock, end_ns))
    first, second, last = sampled_at_ms
    assert 1000 <= first < 1200
    assert 2000 <= second < 2200
    assert last >= 2400
