"""Four nodes of Ray in network namespaces of their own, by hand, as root, on an idle host.

    .venv/bin/python -m tests.fleet.ray_hosts

Prints what the manual promises of hosts: the transactions and histograms of one, a common
beginning, and how soon a node is lost whose network is gone.
"""

# ruff: noqa: T201 - what it finds out is what it prints

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.engine import histogram_bars, histogram_merge
from dbdyno.fleet.fleet import Fleet
from dbdyno.model.frame import Done, Frame, Interval, Started
from tests.engine.postgres import Postgres
from tests.engine.running import plan_for, times
from tests.fleet.ray import RayCluster
from tests.fleet.test_fleet import INSERT, alone, of_kind, received, shared

BRIDGE = "dbdyno-br"
HEALTH = {
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "500",
    "RAY_health_check_failure_threshold": "2",
}


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def network(hosts: list[str]) -> Iterator[None]:
    """This host is 10.77.0.1; each other has a namespace and the addresses from 11 on."""
    with contextlib.ExitStack() as undo:
        ip("link", "add", BRIDGE, "type", "bridge")
        undo.callback(ip, "link", "del", BRIDGE)
        ip("addr", "add", "10.77.0.1/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for number, host in enumerate(hosts):
            ip("netns", "add", host)
            undo.callback(ip, "netns", "del", host)
            ip("link", "add", host, "type", "veth", "peer", "name", "eth0", "netns", host)
            undo.callback(ip, "link", "del", host)
            ip("link", "set", host, "master", BRIDGE, "up")
            ip("-n", host, "addr", "add", f"10.77.0.{number + 11}/24", "dev", "eth0")
            ip("-n", host, "link", "set", "eth0", "up")
            ip("-n", host, "link", "set", "lo", "up")
            ip("-n", host, "route", "add", "default", "via", "10.77.0.1")
        yield


def main() -> None:
    hosts = [f"dbdyno-{number}" for number in range(4)]
    server = Postgres(local_binaries()[0].folder)
    with contextlib.ExitStack() as undo:
        undo.callback(server.remove)
        log = undo.enter_context(tempfile.TemporaryFile("w+"))
        undo.enter_context(network(hosts))
        cluster = RayCluster(0, host="10.77.0.1", **HEALTH)
        undo.callback(cluster.remove)
        for host in hosts:
            cluster.add("ip", "netns", "exec", host)
        os.environ.update(cluster.environment)
        with server.connect() as connection:
            connection.execute("create table got (client int, r int)")

        plan = plan_for(server.endpoint(), INSERT, clients=16, threads=8, seed=5, **times(50))
        alone(plan, log)
        expected = received(server)
        frames, running = shared("ray:*4", plan, log)
        (done,) = of_kind(Done, frames)
        parts = running.workers()
        merged = histogram_merge([part.response for part in parts if part.response is not None])
        print("transactions:", done.counters.ok, "as of one:", received(server) == expected)
        print("histograms equal:", histogram_bars(done.response) == histogram_bars(merged))
        for part in parts:
            print(
                f"{part.name}: began {part.begun_late_ns / 1e3:.0f} µs late, clock "
                f"{part.clock_offset_ns / 1e3:+.0f} ± {part.clock_bound_ns / 1e3:.0f} µs"
            )

        down: list[float] = []

        def cut(_fleet: Fleet, frame: Frame) -> None:
            if isinstance(frame, Interval) and frame.index == 20 and not down:
                ip("link", "set", hosts[2], "down")
                down.append(time.monotonic())

        changes = {"clients": 4, "threads": 4, "seconds": 10, "interval_ns": 200_000_000}
        plan = plan_for(server.endpoint(), "select 1;", **changes)
        frames, running = shared("ray:*4", plan, log, cut, "continue")
        (started,) = of_kind(Started, frames)
        print("end:", of_kind(Done, frames)[0].end)
        for part in running.workers():
            if part.lost_at_s is not None:
                silent_s = started.monotonic_ns / 1e9 + part.lost_at_s - down[0]
                print(f"{part.name} was lost {silent_s:.2f} s after its network: {part.why_lost}")


if __name__ == "__main__":
    main()
