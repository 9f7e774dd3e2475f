"""Hosts with networks of their own that share a load, however they are reached."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TypeAlias

from dbdyno.engine import histogram_bars, histogram_merge
from dbdyno.fleet.fleet import Fleet
from dbdyno.fleet.words import OnLost
from dbdyno.model.frame import Done, Frame, Interval, Started
from dbdyno.model.plan import Endpoint
from dbdyno.model.worker import WorkerPart
from tests.engine.postgres import Postgres
from tests.engine.running import plan_for, times
from tests.fleet.network import Network
from tests.fleet.test_fleet import INSERT, alone, of_kind, received, shared
from tests.support.patience import wait_until

During: TypeAlias = Callable[[Fleet, Frame], None]


@dataclass
class Hosts:
    """A server on this host, and others that load it."""

    network: Network
    server: Postgres
    workers: str

    @property
    def endpoint(self) -> Endpoint:
        return self.server.endpoint(self.network.here)


def assert_as_of_one(
    hosts: Hosts, log: IO[str], during: During = lambda _fleet, _frame: None
) -> list[WorkerPart]:
    """Assert that they do the transactions of one host, and begin together."""
    with hosts.server.connect() as connection:
        connection.execute("create table got (client int, r int)")
    plan = plan_for(hosts.endpoint, INSERT, clients=9, threads=8, seed=5, **times(30))
    alone(plan, log)
    expected = received(hosts.server)
    frames, running = shared(hosts.workers, plan, log, during)
    (done,) = of_kind(Done, frames)
    assert (done.end, done.counters.ok) == ("complete", 9 * 30)
    assert received(hosts.server) == expected
    parts = running.workers()
    responses = [part.response for part in parts if part.response is not None]
    assert histogram_bars(done.response) == histogram_bars(histogram_merge(responses))
    for part in parts:  # one machine has one clock, and no second passes between the beginnings
        assert abs(part.clock_offset_ns) <= part.clock_bound_ns
        assert part.begun_late_ns is not None
        assert part.begun_late_ns < 1e9
    wait_until(lambda: hosts.server.backends() == [], "the end of the load")
    return parts


def losing_one(
    hosts: Hosts, log: IO[str], act: Callable[[Fleet], None], on_lost: OnLost
) -> tuple[float, str]:
    """Run while something happens to the third host; return how soon it is lost, and why."""
    at_s: list[float] = []

    def during(fleet: Fleet, frame: Frame) -> None:
        if isinstance(frame, Interval) and frame.completed_ok and not at_s:
            at_s.append(time.monotonic())
            act(fleet)

    seconds = 60 if on_lost == "stop" else 6
    changes = {"clients": 4, "threads": 4, "seconds": seconds, "interval_ns": 200_000_000}
    plan = plan_for(hosts.endpoint, "select 1;", **changes)
    frames, running = shared(hosts.workers, plan, log, during, on_lost)
    (started,), (done,) = of_kind(Started, frames), of_kind(Done, frames)
    parts = running.workers()
    lost = parts[2]
    assert lost.lost_at_s is not None
    if on_lost == "continue":
        assert done.end == "complete"
        assert [part.name for part in parts if part.lost_at_s is not None] == [lost.name]
    else:
        why = f"worker {lost.name} was lost: {lost.why_lost}"
        assert (done.end, done.reason) == ("aborted", why)
    return started.monotonic_ns / 1e9 + lost.lost_at_s - at_s[0], lost.why_lost
