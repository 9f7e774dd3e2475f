"""What a load that many hosts share costs the one that adds it up: CPU time and memory.

A real agent runs a transaction of 20 statements, and many simulated ones say again what it said,
each second, through pipes of their own: to the real fleet, which adds up, and the real recording.
``python -m bench.fleet HOSTS [SECONDS]`` measures any number of hosts, with these intervals.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from bench.ceiling import Report
from bench.server import bench_server
from dbdyno.fleet.agents import Agent, Arrivals
from dbdyno.fleet.fleet import Fleet
from dbdyno.fleet.words import Place, worker_list
from dbdyno.model.frame import Done, Interval, Started
from dbdyno.model.frame.parts import PartConnected
from dbdyno.model.plan import Arrivals as Law, ClosedArrivals, Plan, Script, Stage
from dbdyno.servers.base import Server
from dbdyno.store.writer import RunWriter
from dbdyno.telemetry.pace import activity_interval_ns
from tests.store import synthetic

NAME = "fleet"
HOSTS, STATEMENTS, SECONDS = 16, 20, 20
CORE_AT_MOST = 0.02
CLIENTS = 8


@dataclass(frozen=True)
class Cost:
    """What adding up cost, from the beginning of the load to its end."""

    core: float
    """Of one CPU."""
    frame_bytes: float
    rss_bytes: int
    late_s: float
    """How long after its end an interval was whole and recorded, at worst."""


def measure(report: Report, server: Server) -> None:
    """Measures the hosts of a large load."""
    cost = of_hosts(HOSTS, server)
    text = f"{100 * cost.core:.2f} % of a core, {cost.frame_bytes / 1024:.0f} KiB a frame"
    report(f"{NAME} of {HOSTS} hosts, {STATEMENTS} statements", text, cost.core < CORE_AT_MOST)


def of_hosts(hosts: int, server: Server, interval_s: float = 1.0) -> Cost:
    """Measures so many hosts that begin together."""
    plan = _plan(server, CLIENTS * hosts, hosts, interval_s)
    with tempfile.TemporaryDirectory(prefix="dbdyno-bench-") as folder:
        said = Path(folder, "frames")
        frames = _said_by_one(_plan(server, 2 * CLIENTS, 2, interval_s))
        said.write_bytes(msgspec.msgpack.encode(frames))
        with _simulated(hosts, said) as places:
            fleet = Fleet(places)
            try:
                fleet.begin()
                with Path(folder, "log").open("w") as log:
                    core, late_s = _added_up(fleet, plan, log, Path(folder))
            finally:
                fleet.end()
    of_intervals = [len(raw) for raw in frames if b"part_interval" in raw[:40]]
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Cost(core, sum(of_intervals) / len(of_intervals), rss, late_s)


def _added_up(fleet: Fleet, plan: Plan, log: IO[str], home: Path) -> tuple[float, float]:
    late_s = [0.0]
    with RunWriter(synthetic.record(), plan, home) as writer:
        for raw, frame in fleet.start(fleet.shared(plan, plan.threads), log):
            writer.append_frame(raw)
            if isinstance(frame, Started):
                began_s, used_s = time.monotonic(), time.process_time()
            if isinstance(frame, Interval):
                late_s.append((time.monotonic_ns() - frame.end_ns) / 1e9)
            if isinstance(frame, Done):
                used_s = time.process_time() - used_s
    return used_s / (time.monotonic() - began_s), max(late_s)


def _plan(server: Server, clients: int, threads: int, interval_s: float) -> Plan:
    return Plan(
        endpoint=server.endpoint(),
        scripts=[Script(name="many", text="\n".join(["select 1;"] * STATEMENTS))],
        seed=1,
        clients=clients,
        threads=threads,
        arrivals=Law(closed=ClosedArrivals()),
        stages=[Stage(duration_ns=SECONDS * 10**9)],
        interval_ns=int(interval_s * 1e9),
        activity_interval_ns=activity_interval_ns("basic"),
    )


def _said_by_one(plan: Plan) -> Sequence[bytes]:
    """What a real agent says that has half of a load."""
    arrivals = Arrivals()
    (place,) = worker_list("local").places()
    agent = Agent(0, place, arrivals)
    said = [arrivals.get().raw]
    agent.send({"run": msgspec.structs.replace(plan, own_threads=[0])})
    while not isinstance((arrived := arrivals.get()).frame, Done):
        if arrived.frame is None:
            raise RuntimeError(f"the agent ended: {arrived.end} {agent.printed()}")
        said.append(arrived.raw)
        if isinstance(arrived.frame, PartConnected):
            agent.send({"begin_at": time.monotonic_ns() + 10**8})
        agent.ask_clock()  # else it would take this process for gone
    agent.close()
    return [*said, arrived.raw]


class _Simulated:
    """A process that is none: two pipes to that which stands for all."""

    pid = os.getpid()

    def __init__(self, stdin: int, stdout: int) -> None:
        self.stdin: IO[bytes] = os.fdopen(stdin, "wb", buffering=0)
        self.stdout: IO[bytes] = os.fdopen(stdout, "rb", buffering=0)
        self.printed: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the agent

    def kill(self) -> None:
        """Its input ends."""

    def wait(self, timeout: float | None = None) -> None:
        """It has ended."""

    def why_ended(self) -> str:
        """Its output ended."""
        return "its stream ended"


@dataclass(frozen=True)
class _At(Place):
    """A place where a simulated agent is."""

    pipes: tuple[int, int]

    def start(self) -> _Simulated:
        return _Simulated(*self.pipes)


@contextmanager
def _simulated(hosts: int, said: Path) -> Iterator[Sequence[Place]]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8 * hosts + 256)), hard))
    places, theirs = [], []
    for number in range(hosts):
        (reads, stdin), (stdout, writes) = os.pipe(), os.pipe()
        places.append(_At(f"host-{number + 1}", (), (stdin, stdout)))
        theirs.append((reads, writes))
    fds = [fd for pair in theirs for fd in pair]
    words = [f"{reads}:{writes}" for reads, writes in theirs]
    command = [sys.executable, "-m", "bench.fleet_hosts", str(said), *words]
    with subprocess.Popen(command, pass_fds=fds) as process:
        for fd in fds:
            os.close(fd)
        try:
            yield places
        finally:
            process.kill()


if __name__ == "__main__":
    with bench_server("postgres") as at:
        print(of_hosts(int(sys.argv[1]), at.server, *map(float, sys.argv[2:])))
