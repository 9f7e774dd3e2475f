"""What watching costs: TPS at each level of telemetry against none, in turn on the same data.

Loads at which it could cost most: as many short transactions a second as the machine gives, so
many that are asked for each second, and a crowd that queues for one row, whose sessions and locks
are looked at each time. The processor time that telemetry itself takes is told beside the ratio:
noise does not move it, and on a machine whose processors are the limit TPS falls by its share.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import mean

from msgspec import structs

from bench.ceiling import Told
from bench.ratio import ratio_of_pairs
from bench.tools import Load, Sample, load_data, run_dbdyno
from dbdyno.model.plan import Endpoint
from dbdyno.model.telemetry import Level
from dbdyno.servers.base import Server

TPS_AT_LEAST: Mapping[Level, float] = {"basic": 0.99, "full": 0.97}
LEVELS: tuple[Level, ...] = ("off", *TPS_AT_LEAST)

PROCESSORS = len(os.sched_getaffinity(0))
DATABASE = "telemetry"


@dataclass(frozen=True)
class Watched:
    """A load that is watched at each level."""

    name: str
    workload: str
    scale: int
    clients: int
    more: tuple[str, ...] = ()

    def load(self, level: Level, seconds: int) -> Load:
        """In dbdyno's words; there is no peer."""
        ours = (self.workload, "-s", str(self.scale), "--telemetry", level, *self.more)
        return Load(ours, (), self.clients, 2, seconds)


LOADS = (
    Watched("select-only, 8 clients", "select-only", 10, 8),
    Watched("select-only, 50 000 a second", "select-only", 10, 8, ("-R", "50000")),
    Watched("tpcb on one row, 500 clients", "tpcb", 1, 500),
)


def measure(told: Told, server: Server, endpoint: Endpoint, rounds: int, seconds: int) -> None:
    """Both loads, in a database of their own."""
    own = structs.replace(endpoint, database=DATABASE)
    with server.connect() as connection:
        connection.execute(f"create database {DATABASE}")
    for watched in LOADS:
        _compare(told, watched, own, rounds, seconds)


def _compare(told: Told, watched: Watched, endpoint: Endpoint, rounds: int, seconds: int) -> None:
    """Runs all levels in each round, another one first each time."""
    samples: dict[Level, list[Sample]] = {level: [] for level in LEVELS}
    for number in range(rounds):
        first = number % len(LEVELS)
        for level in (*LEVELS[first:], *LEVELS[:first]):
            # The same fresh data, without what the run before has left.
            load_data(endpoint, "tpcb", "--replace", "-s", str(watched.scale))
            samples[level].append(run_dbdyno(watched.load(level, seconds), endpoint))
        shown = "   ".join(f"{level} {samples[level][-1].tps:9,.0f} TPS" for level in LEVELS)
        print(f"    {shown}", file=sys.stderr, flush=True)
    tps = {level: [sample.tps for sample in samples[level]] for level in LEVELS}
    for level, at_least in TPS_AT_LEAST.items():
        ratio = ratio_of_pairs(tps[level], tps["off"])
        share = mean(sample.telemetry_cores for sample in samples[level]) / PROCESSORS
        words = f"TPS {ratio} of that without; took {share:.1%} of the processors"
        told(f"telemetry {level}: {watched.name}", words, ratio.value >= at_least)
