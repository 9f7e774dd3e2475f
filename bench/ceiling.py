"""The maximum rate of the load generators on one core, with a server that costs nothing.

The null server answers every statement with the same row, on a separate core. The bare loop shows
what the kernel leaves to any load generator: no bound above its ratio can be kept on this host.
"""

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.bare import BARE, TRANSACTIONS
from bench.cases import SCRIPTS
from bench.engine import engine_of, frames_of
from bench.examples import built_example
from bench.pgbench import PGBENCH
from bench.process import run_to_end
from bench.ratio import ratio_of_pairs
from bench.tool import Load, Tool
from dbdyno.model.frame import Done
from dbdyno.model.plan import (
    Address,
    Arrivals,
    ClosedArrivals,
    Endpoint,
    Io,
    Plan,
    Script,
    Stage,
    UnixSocket,
)

SERVER_CPU, TOOL_CPU = 0, 1
CLIENTS = 64
SECONDS = 5
TPS_AT_LEAST = 250_000
RATIO_AT_LEAST = 2.0
RECORDING_SHARE_AT_MOST = 0.05
SCRIPT = SCRIPTS / "one-row.sql"

Report = Callable[[str, str, bool | None], None]
"""A name, the result as text, and whether the bound is kept: None if that is undecided."""


def measure(report: Report, pairs: int, io: Io) -> None:
    """Measures all maximum rates alternately, and the share of CPU time that recording takes."""
    own, peers, bare, cpu_us = [], [], [], 0.0
    with _null_server() as endpoint:
        for _ in range(pairs):
            tps, cpu_us = _dbdyno(endpoint, io)
            own.append(tps)
            peers.append(_peer_tps(PGBENCH, ("-f", str(SCRIPT), "-s", "1"), endpoint))
            bare.append(_peer_tps(BARE, TRANSACTIONS["select-only"], endpoint))
    ratio = ratio_of_pairs(own, peers)
    best = max(own)
    text = f"{best:,.0f} TPS on one core (best run), pgbench {max(peers):,.0f}; ratio {ratio}"
    text += f"; the bare loop {max(bare):,.0f}, {ratio_of_pairs(bare, peers)}"
    report(
        "ceiling, 64 clients, null server",
        text,
        best >= TPS_AT_LEAST and ratio.value >= RATIO_AT_LEAST,
    )
    record_ns = float(_cargo_example("dbdyno-hist", "record_cost"))
    share = 1 * record_ns / (cpu_us * 1e3)
    report(
        "recording, one statement",
        f"{record_ns:.1f} ns of {cpu_us * 1e3:.0f} ns CPU per transaction: {share:.1%}",
        share < RECORDING_SHARE_AT_MOST,
    )


def _dbdyno(endpoint: Endpoint, io: Io) -> tuple[float, float]:
    """(TPS, engine CPU in µs per transaction) of the engine with one thread."""
    plan = Plan(
        endpoint=endpoint,
        scripts=[Script(name=SCRIPT.name, text=SCRIPT.read_text())],
        variables={"scale": 1},
        seed=1,
        clients=CLIENTS,
        threads=1,
        io=io,
        arrivals=Arrivals(closed=ClosedArrivals()),
        stages=[Stage(duration_ns=SECONDS * 10**9)],
        warmup_ns=10**9,
    )
    with _pinned(TOOL_CPU):
        engine = engine_of(plan)
    [done] = [frame for frame in frames_of(engine) if isinstance(frame, Done)]
    transactions = done.counters.ok
    return transactions / (done.measured_ns / 1e9), done.cpu_us / transactions


def _peer_tps(peer: Tool, options: tuple[str, ...], endpoint: Endpoint) -> float:
    load = Load(options, CLIENTS, 1, SECONDS)
    with _pinned(TOOL_CPU):
        return peer.read(run_to_end(peer.command(load, endpoint)).output).tps


@contextmanager
def _pinned(cpu: int) -> Iterator[None]:
    """Child processes started inside run on this core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def _null_server() -> Iterator[Endpoint]:
    binary = built_example("dbdyno-engine", "null_server")
    with tempfile.TemporaryDirectory(prefix="dbdyno-null-") as folder:
        socket = Path(folder) / ".s.PGSQL.5432"
        with _pinned(SERVER_CPU):
            server = subprocess.Popen([binary, str(socket)], stdin=subprocess.PIPE)
        try:
            while not socket.exists():
                time.sleep(0.01)
            address = Address(unix=UnixSocket(path=str(socket)))
            yield Endpoint(address=address, user="postgres", database="postgres")
        finally:
            server.communicate()  # its input ends, and so does it


def _cargo_example(package: str, name: str) -> str:
    """The number that an example prints."""
    out = subprocess.run([built_example(package, name)], check=True, capture_output=True, text=True)
    found = re.search(r"[\d.]+", out.stdout)
    assert found, out.stdout
    return found[0]
