"""The engine's own footprint: memory of idle connections, time to the first transaction.

Also the memory of many clients that run sysbench's own scripts, where sysbench needs a thread and
an interpreter for each client.
"""

import time
from pathlib import Path

from bench.ceiling import Report
from bench.engine import engine_of, frames_of
from bench.sysbench import SYSBENCH_DATA, TABLE_ROWS, TABLES
from dbdyno.model.frame import Interval, Started
from dbdyno.model.plan import Arrivals, ClosedArrivals, Io, OpenArrivals, Plan, Script, Stage
from dbdyno.run.job import read_job
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import SECOND_NS, RunOptions
from dbdyno.servers.base import Server

FEW, MANY = 50, 2000
KIB_AT_MOST = 32
START_CLIENTS = 100
START_SECONDS_AT_MOST = 1.0
SCRIPTS = ("oltp_point_select.lua", "oltp_read_write.lua")
SCRIPT_CLIENTS = 900
SCRIPT_SECONDS = 8
MIB_AT_MOST = 150


def measure(report: Report, server: Server, io: Io) -> None:
    """Measures both on a real server."""
    few, many = _memory_kib(server, FEW, io), _memory_kib(server, MANY, io)
    each = (many - few) / (MANY - FEW)
    report("footprint of an idle connection", f"{each:.1f} KiB", each <= KIB_AT_MOST)
    seconds = _seconds_to_start(server, io)
    name = f"footprint: start of {START_CLIENTS} clients"
    report(name, f"{seconds:.2f} s to the first transaction", seconds < START_SECONDS_AT_MOST)


def measure_scripts(report: Report, server: Server, io: Io) -> None:
    """The peak memory of the engine with many clients of each script."""
    SYSBENCH_DATA.load(server.endpoint())
    for script in SCRIPTS:
        mib = _peak_kib(_script_plan(server, script, io)) / 1024
        name = f"footprint: {SCRIPT_CLIENTS} clients of {script} on {server.endpoint().protocol}"
        report(name, f"{mib:.0f} MiB", mib < MIB_AT_MOST)


def _script_plan(server: Server, script: str, io: Io) -> Plan:
    sizes = (f"--tables={TABLES}", f"--table-size={TABLE_ROWS}")
    options = RunOptions(
        clients=SCRIPT_CLIENTS,
        threads=2,
        io=io,
        warmup_ns=0,
        duration_ns=SCRIPT_SECONDS * SECOND_NS,
        script_options=sizes,
        seed=1,
    )
    endpoint = server.endpoint()
    job = read_job([WeightedName(script, 1)], options, print)
    return job.plan({}, endpoint, sql_dialect=endpoint.protocol)


def _peak_kib(plan: Plan) -> int:
    """The peak resident memory until the run's last interval."""
    engine = engine_of(plan)
    peak = 0
    for frame in frames_of(engine):
        if isinstance(frame, Interval):
            peak = max(peak, status_kib(engine.pid, "VmHWM"))
    return peak


def status_kib(process: int, name: str) -> int:
    """A number from the process's status; 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields.get(name, "0 kB").split()[0])


def _memory_kib(server: Server, clients: int, io: Io) -> int:
    """Resident memory of an engine whose clients are nearly idle."""
    arrivals = Arrivals(open=OpenArrivals())
    engine = engine_of(_plan(server, clients, io, arrivals, 1.0))
    resident = 0
    for frame in frames_of(engine):
        if isinstance(frame, Interval) and not resident:
            resident = status_kib(engine.pid, "VmRSS")
            engine.stop()
    return resident


def _seconds_to_start(server: Server, io: Io) -> float:
    begin = time.monotonic()
    arrivals = Arrivals(closed=ClosedArrivals())
    engine = engine_of(_plan(server, START_CLIENTS, io, arrivals, None))
    began = begin
    for frame in frames_of(engine):
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
