"""pgbench and dbdyno in turn, on one server and the same data."""

import subprocess
import sys

from bench.cases import SCALE, Case
from bench.ratio import Ratio, ratio_of_pairs
from bench.tools import Place, Sample, dbdyno_path, pgbench_path, run_dbdyno, run_pgbench
from dbdyno.servers.base import Server


def prepare(server: Server, place: Place) -> None:
    """Loads what the cases need: pgbench its tables, dbdyno the others."""
    subprocess.run(
        [pgbench_path(), "-i", "-q", "-s", str(SCALE), *place.flags],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    command = [dbdyno_path(), "load", "pk", "--target", place.url, "-s", str(SCALE)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _settle(server)


def _settle(server: Server) -> None:
    """Starts each run from the same state: no dead rows in the small tables, no dirty pages."""
    with server.connect() as connection:
        connection.execute("vacuum pgbench_branches, pgbench_tellers")
        connection.execute("truncate pgbench_history")
        connection.execute("checkpoint")


def compare(case: Case, server: Server, place: Place, pairs: int, io: str) -> tuple[Ratio, Ratio]:
    """Ratios (TPS, client CPU per transaction) of ours over theirs; the order alternates."""
    ours: list[Sample] = []
    theirs: list[Sample] = []
    for pair in range(pairs):
        turns = [
            lambda: ours.append(run_dbdyno(case.load, place, io=io)),
            lambda: theirs.append(run_pgbench(case.load, place)),
        ]
        for turn in turns if pair % 2 else reversed(turns):
            _settle(server)
            turn()
        print(
            f"    {ours[-1].tps:9,.0f} TPS {ours[-1].cpu_us_per_transaction:6.2f} µs | pgbench "
            f"{theirs[-1].tps:9,.0f} TPS {theirs[-1].cpu_us_per_transaction:6.2f} µs",
            file=sys.stderr,
            flush=True,
        )
    tps = ratio_of_pairs([sample.tps for sample in ours], [sample.tps for sample in theirs])
    cpu = ratio_of_pairs(
        [sample.cpu_us_per_transaction for sample in ours],
        [sample.cpu_us_per_transaction for sample in theirs],
    )
    return tps, cpu


def verdict(case: Case, tps: Ratio, cpu: Ratio) -> bool:
    """Whether the case's bounds are kept."""
    fast = tps.high >= 1.0 if case.tps_at_least is None else tps.value >= case.tps_at_least
    return fast and cpu.value <= case.cpu_at_most
