"""The cost of telemetry: TPS while it is on, relative to the same load while it is off.

It is the product's own telemetry, on a server on this host, as in ``dbdyno run``. The loads are
those at which it could cost most: as many short transactions per second as the host can do, with
few clients and with many, and many clients that queue for one row, whose sessions and locks are
all sampled. That load makes so few transactions that noise would hide one per cent for hours, so
the cost of ``basic`` with many clients is measured with clients that do not queue. A fixed rate
would show nothing: it is reached as long as there is CPU time left. The CPU time of telemetry
itself is printed beside the ratio: noise does not affect it, and with busy CPUs TPS falls by its
share or a little more.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from msgspec import structs

from bench.activity_cost import activity_cores
from bench.alternating import BLOCK_NS, LEAD, Alternation, instant_ns, ratio_of_turns, turns_of
from bench.ceiling import Report
from bench.engine import engine_of, frames_of
from bench.ratio import Ratio
from bench.standing_clock import StandingClock, freeze_clock
from dbdyno.databases.connecting import url_of
from dbdyno.engine import load
from dbdyno.model.frame import Frame
from dbdyno.model.plan import Endpoint, Plan
from dbdyno.model.telemetry import Level, TelemetryCost, TelemetryFrame
from dbdyno.run.connected_server import connect_to
from dbdyno.run.data_preparation import prepare
from dbdyno.run.job import read_job
from dbdyno.run.options.grammar import WeightedName
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.readiness import first_record
from dbdyno.run.watching import Follower, watching
from dbdyno.servers.base import Server
from dbdyno.store.frames_file import FRAMES, read_frames
from dbdyno.store.writer import RunWriter

TPS_AT_LEAST: Mapping[Level, float] = {"basic": 0.99, "full": 0.97}
SEED = 1

PROCESSORS = len(os.sched_getaffinity(0))
DATABASE = "telemetry"

Watch: TypeAlias = Callable[[], AbstractContextManager[Follower]]


@dataclass(frozen=True)
class Watched:
    """A load, and the telemetry levels at which it is measured."""

    name: str
    workload: str
    scale: int
    clients: int
    pairs: Mapping[Level, int]
    """As many as the level's bound needs to be decided."""
    profile_hz: int | None = None

    def options(self, level: Level, blocks: int) -> RunOptions:
        """The options of ``dbdyno run``, on fresh data."""
        return RunOptions(
            clients=self.clients,
            scale=self.scale,
            telemetry=level,
            profile_hz=self.profile_hz,
            warmup_ns=LEAD * BLOCK_NS,
            duration_ns=blocks * BLOCK_NS,
            interval_ns=BLOCK_NS,
            replace=True,
            seed=SEED,
        )


@dataclass(frozen=True)
class Effect:
    """TPS with telemetry relative to TPS without, and the share of CPU time that it took.

    ``reports_share`` is that of the engine's reports to telemetry: they go on in all blocks, so
    their share counts as lost in addition.
    """

    of_turns: Ratio
    share: float
    reports_share: float
    waits_hz: float
    locks_hz: float

    @property
    def tps(self) -> Ratio:
        """With everything that telemetry costs."""
        return self.of_turns.times(1 - self.reports_share)

    def summary(self, at_least: float) -> str:
        """As text, with a remark if the bound is undecided."""
        left = f"{self.tps.value:.3f} ({self.tps.low:.3f} to {self.tps.high:.3f})"
        took = (
            f"{self.share:.1%} of all CPU time, "
            f"and {self.reports_share:.1%} for the engine's reports"
        )
        known = self.tps.is_at_least(at_least) is not None
        doubt = "" if known else f" (cannot tell whether it is at least {at_least})"
        samples = f"{self.waits_hz:.0f} session samples a second, {self.locks_hz:.0f} with locks"
        return f"TPS with / without {left}{doubt}; took {took}; {samples}"


LOADS = (
    Watched("select-only, 8 clients", "select-only", 10, 8, {"basic": 2400, "full": 400}),
    Watched("select-only, 500 clients", "select-only", 10, 500, {"basic": 4000}),
    Watched("tpcb on one row, 500 clients", "tpcb", 1, 500, {"full": 1600}),
)


def measure(report: Report, server: Server, endpoint: Endpoint) -> None:
    """Measures all loads at their levels, in a separate database."""
    with server.connect() as connection:
        connection.execute(f"create database {DATABASE}")
    own = structs.replace(endpoint, database=DATABASE)
    there = replace(server, resolved=own, conninfo=url_of(own))
    for watched in LOADS:
        for level, pairs in watched.pairs.items():
            at_least = TPS_AT_LEAST[level]
            effect = effect_of(level, watched, there, turns_of(pairs, SEED))
            name = f"telemetry {level}: {watched.name}"
            report(name, effect.summary(at_least), effect.tps.is_at_least(at_least))


def effect_of(level: Level, watched: Watched, server: Server, turns: Sequence[bool]) -> Effect:
    """The effect on one load; with the level ``off`` nothing is switched: a control."""
    options = watched.options(level, len(turns))
    job = read_job([WeightedName(watched.workload, 1)], options, print)
    with connect_to(server) as connected:
        prepared = prepare(connected, job, bulk=load, watch=lambda _: None, say=print)
        plan = job.plan(prepared.values, server.endpoint(), connected.target.sql_dialect)
        description = connected.description()
        record = first_record(plan, job.work.name, server, description, options)
        with RunWriter(record, plan) as writer:
            completed = _completed(plan, turns, partial(watching, options, connected, plan, writer))
        ratio = ratio_of_turns(turns, completed)
        return _effect(ratio, activity_cores(plan), read_frames(writer.folder / FRAMES))


def _completed(plan: Plan, turns: Sequence[bool], watch: Watch) -> list[int]:
    """Transactions in each block of a load beside which telemetry was switched on and off."""
    clock = StandingClock(turns, BLOCK_NS)
    if plan.activity_interval_ns is not None:
        instant = instant_ns(plan.activity_interval_ns)
        plan = structs.replace(plan, activity_interval_ns=instant)
    with freeze_clock(clock), watch() as follower:
        alternation = Alternation(len(turns), clock, follower)
        for frame in frames_of(engine_of(plan)):
            alternation.take(frame)
        follower.finish()
    return alternation.completed


def _effect(ratio: Ratio, reports_cores: float, kept: Iterable[Frame | TelemetryFrame]) -> Effect:
    """With the cost that telemetry reported at its end, if any."""
    cost = next((frame for frame in kept if isinstance(frame, TelemetryCost)), None)
    if cost is None:
        return Effect(ratio, 0.0, 0.0, 0.0, 0.0)
    cores = (cost.cpu_us + (cost.server_cpu_us or 0)) / 1e6 / cost.seconds
    return Effect(
        ratio, cores / PROCESSORS, reports_cores / PROCESSORS, cost.waits_hz, cost.locks_hz
    )
