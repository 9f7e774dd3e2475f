"""The load begins when the frame after ``Connected`` is asked for, and not before."""

import time
from collections.abc import Callable

from dbdyno.engine import EngineProcess
from dbdyno.model.frame import Connected, Done, Frame, Started
from tests.engine.running import plan_for, times
from tests.support.patience import wait_until

# Longer than the engine takes from its decision to begin until the load begins.
PAUSE_S = 0.3


def frames_after(engine: EngineProcess, then: Callable[[], object]) -> list[Frame]:
    """All frames; ``then`` is called when the clients are connected."""
    frames = []
    for _, frame in engine:
        frames.append(frame)
        if isinstance(frame, Connected):
            then()
    return frames


def test_the_load_waits_for_whoever_reads_the_servers_counters(local, log, io):
    asked_ns: list[int] = []
    sessions: list[int] = []

    def pause() -> None:
        time.sleep(PAUSE_S)
        sessions.extend(local.backends())
        asked_ns.append(time.monotonic_ns())

    plan = plan_for(local.endpoint(), "select 1;", io=io, **times(10))
    frames = frames_after(EngineProcess(plan, log), pause)
    (began,) = (frame for frame in frames if isinstance(frame, Started))
    assert began.monotonic_ns > asked_ns[0]
    assert len(sessions) == 2
    done = frames[-1]
    assert isinstance(done, Done)
    assert done.counters.ok == 20


def test_a_load_that_is_stopped_before_it_begins_never_does(local, log, io):
    plan = plan_for(local.endpoint(), "select 1;", io=io, seconds=60)
    engine = EngineProcess(plan, log)
    frames = frames_after(engine, engine.stop)
    assert not any(isinstance(frame, Started) for frame in frames)
    done = frames[-1]
    assert isinstance(done, Done)
    assert (done.end, done.counters.started) == ("interrupted", 0)


def test_clients_that_lose_their_sessions_before_the_load_begins_are_back_for_it(local, log, io):
    def terminate() -> None:
        lost = local.backends()
        for backend in lost:
            local.execute(f"select pg_terminate_backend({backend})")
        wait_until(lambda: len({*local.backends()} - {*lost}) == 2, "the clients are back")

    plan = plan_for(local.endpoint(), "select 1;", io=io, **times(10))
    done = frames_after(EngineProcess(plan, log), terminate)[-1]
    assert isinstance(done, Done)
    assert (done.end, done.counters.ok) == ("complete", 20)
