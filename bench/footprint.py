"""What the engine itself takes: memory for idle connections, time to its first transaction."""

import subprocess
import time
from pathlib import Path

from bench.ceiling import Told
from dbdyno.engine import EngineProcess
from dbdyno.model.frame import Interval, Started
from dbdyno.model.plan import Arrivals, ClosedArrivals, Io, OpenArrivals, Plan, Script, Stage
from dbdyno.servers.base import Server

FEW, MANY = 50, 2000
KIB_AT_MOST = 32
START_CLIENTS = 100
START_SECONDS_AT_MOST = 1.0


def measure(told: Told, server: Server, io: Io) -> None:
    """Both figures, on a real server."""
    few, many = _memory_kib(server, FEW, io), _memory_kib(server, MANY, io)
    each = (many - few) / (MANY - FEW)
    told("footprint of an idle connection", f"{each:.1f} KiB", each <= KIB_AT_MOST)
    seconds = _seconds_to_start(server, io)
    name = f"footprint: start of {START_CLIENTS} clients"
    told(name, f"{seconds:.2f} s to the first transaction", seconds < START_SECONDS_AT_MOST)


def _memory_kib(server: Server, clients: int, io: Io) -> int:
    """Resident memory of an engine whose clients have hardly anything to do."""
    arrivals = Arrivals(open=OpenArrivals())
    engine = EngineProcess(_plan(server, clients, io, arrivals, 1.0), subprocess.DEVNULL)
    resident = 0
    for _, frame in engine:
        if isinstance(frame, Interval) and not resident:
            status = Path(f"/proc/{engine.pid}/status").read_text()
            resident = int(status.split("VmRSS:")[1].split()[0])
            engine.stop()
    return resident


def _seconds_to_start(server: Server, io: Io) -> float:
    begin = time.monotonic()
    arrivals = Arrivals(closed=ClosedArrivals())
    engine = EngineProcess(_plan(server, START_CLIENTS, io, arrivals, None), subprocess.DEVNULL)
    began = begin
    for _, frame in engine:
        if isinstance(frame, Started):
            began = frame.monotonic_ns / 1e9
            engine.stop()
    return began - begin


def _plan(server: Server, clients: int, io: Io, arrivals: Arrivals, rate: float | None) -> Plan:
    return Plan(
        endpoint=server.endpoint(),
        scripts=[Script(name="one", text="select 1;")],
        seed=1,
        clients=clients,
        threads=2,
        io=io,
        arrivals=arrivals,
        stages=[Stage(duration_ns=5 * 10**9, rate_tps=rate)],
        warmup_ns=0,
    )
