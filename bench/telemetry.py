"""What watching costs: TPS at each level of telemetry against none, in turn on the same data.

Two loads at which it could cost most: as many short transactions a second as the machine
gives, and a crowd that queues for one row, whose sessions and locks are looked at each time.
"""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace

from bench.ceiling import Told
from bench.ratio import ratio_of_pairs
from bench.tools import Load, Place, dbdyno_path, run_dbdyno
from dbdyno.model.telemetry import Level
from dbdyno.servers.base import Server

TPS_AT_LEAST: Mapping[Level, float] = {"basic": 0.99, "full": 0.97}
LEVELS: tuple[Level, ...] = ("off", *TPS_AT_LEAST)

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
    tps: dict[Level, list[float]] = {level: [] for level in LEVELS}
    for number in range(rounds):
        first = number % len(LEVELS)
        for level in (*LEVELS[first:], *LEVELS[:first]):
            _load(load, place)
            tps[level].append(run_dbdyno(load, place, telemetry=level).tps)
        shown = "   ".join(f"{level} {tps[level][-1]:9,.0f} TPS" for level in LEVELS)
        print(f"    {shown}", file=sys.stderr, flush=True)
    for level, at_least in TPS_AT_LEAST.items():
        ratio = ratio_of_pairs(tps[level], tps["off"])
        words = f"TPS {ratio} of that without"
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
