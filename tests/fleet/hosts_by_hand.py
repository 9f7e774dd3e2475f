"""Four hosts in network namespaces of their own, by hand, as root, on an idle host.

    .venv/bin/python -m tests.fleet.hosts_by_hand ssh
    .venv/bin/python -m tests.fleet.hosts_by_hand ray

Prints what the manual promises of hosts: the transactions and histograms of one, a common
beginning, how soon a host is lost whose network is gone, and how soon nothing is left of a load
whose controller, agent, ssh or raylet was killed.
"""

# ruff: noqa: T201 - what it finds out is what it prints

import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.engine import histogram_bars, histogram_merge
from dbdyno.fleet.fleet import Fleet
from dbdyno.model.frame import Done, Frame, Interval, Started
from dbdyno.model.plan import Plan
from tests.engine.postgres import Postgres
from tests.engine.running import plan_for, times
from tests.fleet.network import Network, network
from tests.fleet.ray import RayCluster
from tests.fleet.ssh import SshServer
from tests.fleet.test_fleet import INSERT, alone, controller, of_kind, received, shared

HEALTH = {
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "500",
    "RAY_health_check_failure_threshold": "2",
}
TIMES = 5
NODE_IS_GONE_S = 5.0


class Reached(NamedTuple):
    """How the hosts are reached, and how the way to the third one is broken and mended."""

    workers: str
    kills: dict[str, Callable[[Fleet], None]]
    mend: Callable[[], None]


@contextlib.contextmanager
def reached(way: str, net: Network) -> Iterator[Reached]:
    """Start what the third host is reached by last: it can be killed, and started again."""
    third = net.hosts[2]
    with contextlib.ExitStack() as undo:
        if way == "ssh":
            folder = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="dbdyno-")))
            server = SshServer(folder, net.hosts)
            undo.callback(server.remove)
            os.environ["PATH"] = f"{server.bin}:{os.environ['PATH']}"
            yield Reached(
                server.workers(4), {"ssh": lambda fleet: fleet.agents[2].kill()}, third.mend
            )
            return
        cluster = RayCluster(0, host=net.here, **HEALTH)
        undo.callback(cluster.remove)
        for host in (*net.hosts[:2], net.hosts[3], third):
            cluster.add(*host.inside)
        os.environ.update(cluster.environment)

        def kill_raylet(_fleet: Fleet) -> None:
            for process in cluster.processes_of(-1):
                if Path(f"/proc/{process}/comm").read_text().strip() == "raylet":
                    os.kill(process, signal.SIGKILL)

        def mend() -> None:
            third.mend()
            cluster.kill(-1)
            time.sleep(NODE_IS_GONE_S)
            cluster.add(*third.inside)

        yield Reached("ray:*4", {"raylet": kill_raylet}, mend)


def kill_agent(fleet: Fleet) -> None:
    """Kill the third agent itself."""
    greeting = fleet.agents[2].greeting
    assert greeting is not None
    os.kill(greeting.pid, signal.SIGKILL)


def main(way: str) -> None:
    server = Postgres(
        local_binaries()[0].folder,
        "local all all trust\nhost all all 10.0.0.0/8 trust\n",
        listen_addresses="*",
    )
    with contextlib.ExitStack() as undo:
        undo.callback(server.remove)
        log = undo.enter_context(tempfile.TemporaryFile("w+"))
        net = undo.enter_context(network(4))
        workers, kills, mend = undo.enter_context(reached(way, net))
        endpoint = server.endpoint(net.here)
        with server.connect() as connection:
            connection.execute("create table got (client int, r int)")

        plan = plan_for(endpoint, INSERT, clients=16, threads=8, seed=5, **times(50))
        alone(plan, log)
        expected = received(server)
        for _ in range(TIMES):
            frames, running = shared(workers, plan, log)
            (done,) = of_kind(Done, frames)
            parts = running.workers()
            merged = histogram_merge([part.response for part in parts if part.response is not None])
            print("transactions:", done.counters.ok, "as of one:", received(server) == expected)
            print("histograms equal:", histogram_bars(done.response) == histogram_bars(merged))
            for part in parts:
                print(
                    f"{part.name}: began {(part.begun_late_ns or 0) / 1e3:.0f} µs late, clock "
                    f"{part.clock_offset_ns / 1e3:+.0f} ± {part.clock_bound_ns / 1e3:.0f} µs"
                )

            print(f"the server saw them begin within {_apart_ms(server, workers, net):.2f} ms")

        changes = {"clients": 4, "threads": 4, "seconds": 8, "interval_ns": 200_000_000}
        plan = plan_for(endpoint, "select 1;", **changes)
        cut = {"network": lambda _: net.hosts[2].cut()}
        for what, act in {**cut, "agent": kill_agent, **kills}.items():
            for _ in range(TIMES):
                lose(server, plan, workers, what, act)
                mend()
        for _ in range(TIMES):
            lose_controller(server, net, workers)


def _apart_ms(server: Postgres, workers: str, net: Network) -> float:
    """Return how far apart the first statements of the hosts came, by the server's clock."""
    with server.connect() as connection, tempfile.TemporaryFile("w+") as log:
        connection.execute("create table begun (host inet, at timestamptz)")
        text = "insert into begun values (inet_client_addr(), clock_timestamp());"
        changes = {"clients": 4, "threads": 4, **times(1)}
        shared(workers, plan_for(server.endpoint(net.here), text, **changes), log)
        found = connection.execute("select at from begun order by at").fetchall()
        connection.execute("drop table begun")
    assert len(found) == len(net.hosts)
    return (found[-1][0] - found[0][0]).total_seconds() * 1e3


def lose(
    server: Postgres, plan: Plan, workers: str, what: str, act: Callable[[Fleet], None]
) -> None:
    """Run, and let something happen in the middle."""
    at: list[float] = []

    def do(fleet: Fleet, frame: Frame) -> None:
        if isinstance(frame, Interval) and frame.index == 10 and not at:
            at.append(time.monotonic())
            act(fleet)

    with tempfile.TemporaryFile("w+") as log:
        frames, running = shared(workers, plan, log, do, "continue")
    (started,) = of_kind(Started, frames)
    lost = [part for part in running.workers() if part.lost_at_s is not None]
    for part in lost:
        assert part.lost_at_s is not None
        silent_s = started.monotonic_ns / 1e9 + part.lost_at_s - at[0]
        print(f"{what}: {part.name} was lost {silent_s:.2f} s after it: {part.why_lost}")
    print(f"{what}: end {of_kind(Done, frames)[0].end}, sessions left {len(server.backends())}")


def lose_controller(server: Postgres, net: Network, workers: str) -> None:
    """Kill a controller whose clients are in the middle of a statement."""
    plan = plan_for(
        server.endpoint(net.here), "select pg_sleep(600);", clients=8, threads=4, seconds=60
    )
    with controller(plan, workers) as process:
        while len(server.backends()) < plan.clients:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        killed_s = time.monotonic()
    while server.backends():
        time.sleep(0.01)
    print(f"controller: nothing left {time.monotonic() - killed_s:.2f} s after it")


if __name__ == "__main__":
    main(*sys.argv[1:])
