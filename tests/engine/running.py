"""Runs the real engine on a plan, and keeps all its frames in order.

Whatever happens, the engine is ended within the timeout of a test: an engine that has to be killed
for it fails the test.
"""

import threading
from collections.abc import Callable
from typing import IO, Any, TypeVar

from msgspec import Struct

from dbdyno.engine import EngineProcess
from dbdyno.model.frame import (
    Counters,
    Done,
    Failed,
    Frame,
    Hello,
    Interval,
    Note,
    Outage,
    Started,
)
from dbdyno.model.plan import (
    Arrivals,
    ClosedArrivals,
    Endpoint,
    OpenArrivals,
    Plan,
    Script,
    Stage,
)

MS = 1_000_000
SECOND = 1_000 * MS
PATIENCE_S = 120
F = TypeVar("F")


def plan_for(endpoint: Endpoint, *texts: str, seconds: float = 0.6, **changes: Any) -> Plan:
    """Return a short closed loop of two clients on two threads; ``rate_tps`` makes it open."""
    rate = changes.pop("rate_tps", None)
    law = changes.pop("law", "constant")
    opened = Arrivals(open=OpenArrivals(law=law))
    known = {
        "endpoint": endpoint,
        "scripts": [Script(name=f"s{place}", text=text) for place, text in enumerate(texts)],
        "seed": 1,
        "clients": 2,
        "threads": 2,
        "arrivals": opened if rate else Arrivals(closed=ClosedArrivals()),
        "stages": [Stage(duration_ns=int(seconds * SECOND), rate_tps=rate)],
        "warmup_ns": 0,
        "interval_ns": 100 * MS,
    }
    return Plan(**{**known, **changes})


def times(count: int) -> dict[str, Any]:
    """Return changes of a plan: this many transactions per client, however long they take."""
    return {"transactions_per_client": count, "stages": [Stage(duration_ns=None)]}


class EngineRun(Struct, frozen=True):
    """The frames of an engine, and how it ended."""

    frames: list[Frame]
    exit_code: int | None
    log: str

    def all(self, kind: type[F]) -> list[F]:
        return [frame for frame in self.frames if isinstance(frame, kind)]

    def one(self, kind: type[F]) -> F:
        found = self.all(kind)
        assert len(found) == 1, f"{len(found)} of {kind.__name__} in {self.frames}"
        return found[0]

    @property
    def done(self) -> Done:
        return self.one(Done)

    @property
    def counters(self) -> Counters:
        return self.done.counters

    @property
    def failed(self) -> Failed:
        """The frame of a run that failed before anything was started."""
        assert not self.all(Started)
        assert not self.all(Done)
        assert self.exit_code == 1
        return self.one(Failed)

    @property
    def codes(self) -> dict[str, tuple[str, int]]:
        """Class and count of the failures, by code."""
        return {each.code: (each.failure_class, each.count) for each in self.done.failures}

    def check(self) -> None:
        """Assert what holds for every run that could start."""
        assert self.exit_code == 0, self.frames
        order = [type(frame) for frame in self.frames if not isinstance(frame, Note | Outage)]
        assert order[0] is Hello
        assert order[-1] is Done
        for place, interval in enumerate(self.all(Interval)):
            assert interval.index == place
            assert_identities(interval.counters)
        assert_identities(self.counters)
        assert self.counters.in_flight == 0
        assert len(self.done.unfinished_ages_ns) == self.counters.unfinished


def assert_identities(counts: Counters) -> None:
    assert counts.due == counts.started + counts.skipped + counts.waiting
    ended = counts.ok + counts.failed + counts.unfinished
    assert counts.started == ended + counts.in_flight


Happening = Callable[[EngineProcess], None]


def run(plan: Plan, log: IO[str], during: Happening | None = None) -> EngineRun:
    """Run a plan to its end; ``during`` is called once the load has begun."""
    return run_until(plan, log, Started if during else None, during)


def run_until(
    plan: Plan, log: IO[str], frame_kind: type[Any] | None, then: Happening | None
) -> EngineRun:
    """Run a plan; after the first frame of a kind, call a function in a separate thread."""
    engine = EngineProcess(plan, log)
    frames: list[Frame] = []
    failures: list[BaseException] = []
    thread = threading.Thread(target=_happen, args=(then, engine, failures))
    patience_is_over = threading.Event()
    guard = threading.Timer(PATIENCE_S, lambda: (patience_is_over.set(), engine.kill()))
    guard.start()
    for _, frame in engine:
        frames.append(frame)
        if frame_kind and isinstance(frame, frame_kind) and not thread.ident:
            thread.start()
    if thread.ident:
        thread.join()
    guard.cancel()
    if failures:
        raise failures[0]
    assert not patience_is_over.is_set(), "it did not end by itself"
    log.seek(0)
    return EngineRun(frames, engine.returncode, log.read())


def _happen(
    happening: Happening | None, engine: EngineProcess, failures: list[BaseException]
) -> None:
    try:
        if happening:
            happening(engine)
    except BaseException as failure:  # raised in the test's own thread
        failures.append(failure)
