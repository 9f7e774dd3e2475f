"""The cost of the profile alone: TPS while the kernel samples the server, relative to TPS without.

It is the product's own profile, switched on and off beside one load like telemetry, of which it is
the only part here. Its thread's CPU time is printed beside the ratio; the kernel's for taking the
samples is in the ratio only.
"""

import time
from dataclasses import replace

import pytest
from msgspec import structs

from bench import telemetry
from bench.alternating import turns_of
from bench.ceiling import Report
from bench.telemetry import DATABASE, SEED, Effect, Watched
from dbdyno.databases.connecting import url_of
from dbdyno.model.frame import Hello
from dbdyno.model.plan import Endpoint
from dbdyno.model.telemetry import TelemetryCost
from dbdyno.run.options.grammar import PROFILE_HZ
from dbdyno.servers.base import Server
from dbdyno.telemetry.recorder import PATIENCE_AT_END_S, Recorder
from dbdyno.telemetry.worker import Worker

TPS_AT_LEAST = 0.99
PAIRS = 2400
LOAD = Watched("select-only, 8 clients", "select-only", 10, 8, {}, PROFILE_HZ)


class ProfileAlone(Recorder):
    """Telemetry of which there is nothing but the profile."""

    def _prepare(self, hello: Hello) -> None:
        del hello
        self._workers = [
            Worker(task, self._load_clock, self._publisher) for task in self._profiles()
        ]

    def finish(self) -> None:
        """Record what it cost."""
        ended_ns = time.monotonic_ns()
        self._end(PATIENCE_AT_END_S)
        if self._began_ns is not None:
            cost = TelemetryCost(
                level=self._watched.level,
                seconds=(ended_ns - self._began_ns) / 1e9,
                cpu_us=sum(worker.cpu_us for worker in self._workers),
                server_cpu_us=None,
                samples=0,
                waits_hz=0.0,
                locks_hz=0.0,
            )
            self._publisher.publish(cost)
        self._publisher.close()


def measure(report: Report, server: Server, endpoint: Endpoint, pairs: int = PAIRS) -> None:
    """Measures it at its usual frequency, with as many short transactions as the host can do."""
    with server.connect() as connection:
        connection.execute(f"create database {DATABASE}_profile")
    own = structs.replace(endpoint, database=f"{DATABASE}_profile")
    there = replace(server, resolved=own, conninfo=url_of(own))
    effect = effect_of(there, pairs)
    ratio = effect.of_turns
    report(
        f"profile at {PROFILE_HZ} Hz: {LOAD.name}",
        f"TPS with / without {ratio.value:.4f} ({ratio.low:.4f} to {ratio.high:.4f}); "
        f"its thread took {effect.share:.2%} of all CPU time",
        ratio.is_at_least(TPS_AT_LEAST),
    )


def effect_of(server: Server, pairs: int) -> Effect:
    """The effect of so many turns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dbdyno.run.watching.Recorder", ProfileAlone)
        return telemetry.effect_of("basic", LOAD, server, turns_of(pairs, SEED))
