"""What watching costs: TPS at each level of telemetry against none, in turn on the same data.

Two loads at which it could cost most: as many short transactions a second as the machine
gives, and a crowd that queues for one row, whose sessions and locks are looked at each time.
The processor time that telemetry itself takes is told beside the ratio: noise does not move it,
and on a machine whose processors are the limit TPS falls by its share.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from statistics import mean

from bench.ceiling import Told
from bench.ratio import ratio_of_pairs
from bench.tools import Load, Place, Sample, dbdyno_path, run_dbdyno
from dbdyno.model.telemetry import Level
from dbdyno.servers.base import Server

TPS_AT_LEAST: Mapping[Level, float] = {"basic": 0.99, "full": 0.97}
LEVELS: tuple[Level, ...] = ("off", *TPS_AT_LEAST)

PROCESSORS = len(os.sched_getaffinity(0))
SELECT_SCALE = 10
DATABASE = "telemetry"


def measure(told: Told, server: Server, place: Place, rounds: int, seconds: int) -> None:
    """Both loads, in a database of their own."""
    own = replace(place, database=DATABASE)
    with server.connect() as connection:
        connection.execute(f"create database {DATABASE}")
    select = Load("select-only", None, "", SELECT_SCALE, 8, 2, seconds)
    queue = Load("tpcb", None, "", 1, 500, 2, seconds)
    _compare(told, "select-only, 8 clients", select, own, rounds)
    _compare(told, "tpcb on one row, 500 clients", queue, own, rounds)


def _compare(told: Told, name: str, load: Load, place: Place, rounds: int) -> None:
    """Runs all levels in each round, another one first each time."""
    samples: dict[Level, list[Sample]] = {level: [] for level in LEVELS}
    for number in range(rounds):
        first = number % len(LEVELS)
        for level in (*LEVELS[first:], *LEVELS[:first]):
            _load(load, place)
            samples[level].append(run_dbdyno(load, place, telemetry=level))
        shown = "   ".join(f"{level} {samples[level][-1].tps:9,.0f} TPS" for level in LEVELS)
        print(f"    {shown}", file=sys.stderr, flush=True)
    tps = {level: [sample.tps for sample in samples[level]] for level in LEVELS}
    for level, at_least in TPS_AT_LEAST.items():
        ratio = ratio_of_pairs(tps[level], tps["off"])
        share = mean(sample.telemetry_cores for sample in samples[level]) / PROCESSORS
        words = f"TPS {ratio} of that without; took {share:.1%} of the processors"
        told(f"telemetry {level}: {name}", words, ratio.value >= at_least)


def _load(load: Load, place: Place) -> None:
    """The same fresh data, without what the run before has left."""
    command = [dbdyno_path(), "load", "tpcb", "--replace", "--target", place.url]
    subprocess.run(
        [*command, "-s", str(load.scale)],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
