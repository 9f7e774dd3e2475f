"""What watching costs: TPS while telemetry is on, against those of the same load while it is off.

Loads at which it could cost most: as many short transactions a second as the machine gives, so
many that are asked for each second, and a crowd that queues for one row, whose sessions and locks
are looked at each time. The processor time that telemetry itself takes is told beside the ratio:
noise does not move it, and on a machine whose processors are the limit TPS falls by its share.
"""

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from functools import partial
from statistics import mean
from typing import TypeAlias

from msgspec import structs

from bench.alternating import BLOCK_NS, INSTANT_NS, LEAD, Alternation, ratio_of_turns, turns_of
from bench.ceiling import Told
from bench.ratio import Ratio
from bench.standing_clock import StandingClock, put_up
from dbdyno.engine import EngineProcess, load
from dbdyno.errors import DbdynoError
from dbdyno.model.frame import Failed, Frame
from dbdyno.model.plan import Endpoint, Plan
from dbdyno.model.telemetry import Level, TelemetryCost
from dbdyno.run.drafting import plan_of
from dbdyno.run.grammar import WeightedName
from dbdyno.run.options import RunOptions
from dbdyno.run.outcome import first_record
from dbdyno.run.scene import enter, prepare
from dbdyno.run.watching import Follower, watching
from dbdyno.run.work import find_work
from dbdyno.servers.base import Server
from dbdyno.servers.connecting import url_of
from dbdyno.store import RunWriter
from dbdyno.store.frames_file import FRAMES, read_frames

TPS_AT_LEAST: Mapping[Level, float] = {"basic": 0.99, "full": 0.97}
PAIRS = 400
SEED = 1

PROCESSORS = len(os.sched_getaffinity(0))
DATABASE = "telemetry"

Watch: TypeAlias = Callable[[], AbstractContextManager[Follower]]


@dataclass(frozen=True)
class Watched:
    """A load that is watched at each level."""

    name: str
    workload: str
    scale: int
    clients: int
    rate_tps: float | None = None

    def options(self, level: Level, blocks: int) -> RunOptions:
        """As ``dbdyno run`` would be told, on fresh data."""
        return RunOptions(
            clients=self.clients,
            scale=self.scale,
            rate_tps=self.rate_tps,
            telemetry=level,
            warmup_ns=LEAD * BLOCK_NS,
            duration_ns=blocks * BLOCK_NS,
            interval_ns=BLOCK_NS,
            replace=True,
        )


@dataclass(frozen=True)
class Effect:
    """What is left of TPS with telemetry, and what that took meanwhile."""

    tps: Ratio
    share: float
    looks_hz: float

    def told(self) -> str:
        """In words."""
        left = f"{self.tps.value:.3f} ({self.tps.low:.3f} to {self.tps.high:.3f})"
        took = f"took {self.share:.1%} of the processors, {self.looks_hz:.0f} looks a second"
        return f"TPS {left} of that without; {took}"


LOADS = (
    Watched("select-only, 8 clients", "select-only", 10, 8),
    Watched("select-only, 50 000 a second", "select-only", 10, 8, 50_000.0),
    Watched("tpcb on one row, 500 clients", "tpcb", 1, 500),
)


def measure(told: Told, server: Server, endpoint: Endpoint) -> None:
    """All loads at both levels, in a database of their own."""
    with server.connect() as connection:
        connection.execute(f"create database {DATABASE}")
    own = structs.replace(endpoint, database=DATABASE)
    there = replace(server, resolved=own, conninfo=url_of(own))
    for watched in LOADS:
        for level, at_least in TPS_AT_LEAST.items():
            effect = effect_of(level, watched, there, turns_of(PAIRS, SEED))
            told(
                f"telemetry {level}: {watched.name}",
                effect.told(),
                effect.tps.is_at_least(at_least),
            )


def effect_of(level: Level, watched: Watched, server: Server, turns: Sequence[bool]) -> Effect:
    """Of one load; with the level ``off`` nothing is switched, and nothing must be seen."""
    options = watched.options(level, len(turns))
    work = find_work([WeightedName(watched.workload, 1)], (), options)
    with closing(enter(server)) as scene:
        prepared = prepare(scene, work, options, seed=SEED, bulk=load, watch=lambda _: None)
        words = scene.target.words
        plan = plan_of(options, work, prepared.values, server.endpoint(), words=words, seed=SEED)
        description = scene.target.describe(scene.control)
        record = first_record(plan, work.name, server, description, options)
        with RunWriter(record, plan) as writer:
            completed = _completed(plan, turns, partial(watching, options, scene, writer))
        kept = read_frames(writer.folder / FRAMES)
        costs = [frame for frame in kept if isinstance(frame, TelemetryCost)]
    return _effect(ratio_of_turns(turns, completed), costs)


def _completed(plan: Plan, turns: Sequence[bool], watch: Watch) -> list[int]:
    """In each block of a load beside which telemetry was switched on and off."""
    clock = StandingClock(turns, BLOCK_NS)
    if plan.activity_interval_ns is not None:
        # However rarely a level looks: its clock stands still for any number of blocks.
        plan = structs.replace(plan, activity_interval_ns=INSTANT_NS)
    with put_up(clock), watch() as follower:
        alternation = Alternation(len(turns), clock, follower)
        for frame in _frames(plan):
            alternation.take(frame)
        follower.finish()
    return alternation.completed


def _frames(plan: Plan) -> Iterator[Frame]:
    """Of a load until its end; one that fails says why."""
    engine = EngineProcess(plan, subprocess.DEVNULL)
    try:
        for _, frame in engine:
            if isinstance(frame, Failed):
                raise DbdynoError(frame.code, frame.message, frame.hint)
            yield frame
    finally:
        engine.kill()


def _effect(tps: Ratio, costs: Sequence[TelemetryCost]) -> Effect:
    if not costs:
        return Effect(tps, 0.0, 0.0)
    cores = [(cost.cpu_us + (cost.server_cpu_us or 0)) / 1e6 / cost.seconds for cost in costs]
    return Effect(tps, mean(cores) / PROCESSORS, mean(cost.waits_hz for cost in costs))
