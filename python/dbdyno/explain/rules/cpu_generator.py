"""The load generator is saturated, or takes CPU time that the server needs.

Looks for: an engine that uses nearly all the CPU time it can get, so that it cannot offer more
load; and an engine that uses a substantial part of a host whose CPU is saturated.

Arithmetic: the engine's CPU time over (cores × seconds) is its utilization; it can use as many
cores at once as it has threads, if it is allowed as many. On a saturated host that it shares with
the server, the share w of the CPU that it uses is what the server would gain on a host of its own:
a factor of up to 1 / (1 − w).

Source: utilization law, U = X · S (Denning and Buzen, Computing Surveys 10, 1978).

Wrong when: only one of several scripts needs much CPU (Lua, heavy arithmetic): the mean over the
threads then hides the one that is saturated.
"""

from typing import ClassVar

from dbdyno.analysis.waits.processor_time import SATURATED
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.resources.processors import FULL, engine_fullness, processor_time
from dbdyno.explain.rule import NOTICED, Aside, Claim, NotFound, Rule, at_most, severity_of
from dbdyno.formatting import percent
from dbdyno.model.record import Certainty, Severity, ShareOf
from dbdyno.model.run import Run


class GeneratorSaturated(Claim, frozen=True, kw_only=True):
    """The engine uses nearly all the CPU time that it can get."""

    busy_share: float
    title: ClassVar[str] = "CPU-bound: the load generator is saturated"
    share_of: ClassVar[ShareOf] = ""
    severity: ClassVar[Severity] = "critical"
    certainty: ClassVar[Certainty] = "sure"

    @property
    def summary(self) -> str:
        return (
            f"The load generator used {percent(self.busy_share)} of the CPU time it can get: these "
            "numbers show its limit, not the server's."
        )

    why: ClassVar[str] = (
        "A saturated load generator starts transactions late and reads replies late."
    )
    advice: ClassVar[list[str]] = [
        "Give it more threads (-j) and cores for them (--engine-cpus), or run it on another host."
    ]
    refute: ClassVar[str] = "Give it twice the threads and cores: throughput must rise."


class GeneratorBesideServer(LimitClaim, frozen=True, kw_only=True):
    """The engine uses CPU time of a saturated host on which the server is, too."""

    engine_share: float
    server_share: float
    in_use: Aside[float]
    share_of: ClassVar[ShareOf] = ""

    @property
    def severity(self) -> Severity:
        return at_most("minor", severity_of(self.engine_share))

    @property
    def summary(self) -> str:
        return (
            f"The load generator used {percent(self.engine_share)} of the CPU of a saturated host, "
            "which the server on the same host could not use."
        )

    @property
    def seen(self) -> list[str]:
        return [
            f"CPU utilization: {percent(self.in_use)}, of which server "
            f"{percent(self.server_share)}, load generator {percent(self.engine_share)}."
        ]

    why: ClassVar[str] = "On one host the two compete for CPU: the numbers describe both together."
    advice: ClassVar[list[str]] = [
        "Run the load from another host, or compare only with runs of the same setup."
    ]

    @property
    def gain(self) -> str:
        return self.gains.text(self.engine_share)

    refute: ClassVar[str] = "Run the load from another host: throughput must rise."


def look(run: Run) -> GeneratorSaturated | GeneratorBesideServer | NotFound:
    """A saturated engine first: then the run's numbers are about the engine."""
    fullness = engine_fullness(run)
    if fullness >= FULL:
        return GeneratorSaturated(share=fullness, busy_share=fullness)
    used = processor_time(run)
    if used.in_use < SATURATED:
        return NotFound(f"it used {percent(fullness)} of the CPU time it can get")
    if used.engine < NOTICED:
        return NotFound(f"it used {percent(used.engine)} of the CPU")
    return GeneratorBesideServer(
        share=used.engine,
        engine_share=used.engine,
        server_share=used.server,
        in_use=used.in_use,
        gains=gains_in(run),
    )


RULE = Rule(
    id="cpu_generator",
    title="CPU-bound: the load generator",
    look=look,
)
