"""The load generator is saturated: the run shows its limit.

Looks for: an engine that uses nearly all the CPU time it can get, so that it cannot offer more
load. That it uses CPU time of a host that it shares with the server is a condition of the run, and
a doubt (*shared host*); it becomes this finding if ``dbdyno explain --verify`` measures more
throughput with less of the generator.

Arithmetic: the engine's CPU time over (cores × seconds) is its utilization; it can use as many
cores at once as it has threads, if it is allowed as many.

Source: utilization law, U = X · S (Denning and Buzen, Computing Surveys 10, 1978).

Wrong when: only one of several scripts needs much CPU (Lua, heavy arithmetic): the mean over the
threads then hides the one that is saturated.
"""

from typing import ClassVar

from dbdyno.explain.resources.processors import FULL, engine_fullness
from dbdyno.explain.rule import Aside, Claim, NotFound, Rule
from dbdyno.formatting import percent
from dbdyno.model.record import Certainty, Severity, ShareOf
from dbdyno.model.run import Run


class GeneratorSaturated(Claim, frozen=True, kw_only=True):
    """The engine uses nearly all the CPU time that it can get."""

    busy_share: float
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


class GeneratorLimits(Claim, frozen=True, kw_only=True):
    """A counter-experiment reached more throughput with less of the generator."""

    change: Aside[str]
    """What the second runs of the pairs had less of."""
    throughput_ratio: float
    throughput_ratio_low: float
    throughput_ratio_high: float
    share_of: ClassVar[ShareOf] = "lost throughput"
    certainty: ClassVar[Certainty] = "sure"

    @property
    def title(self) -> str:
        return "CPU-bound: the load generator takes the server's CPUs"

    @property
    def summary(self) -> str:
        return (
            f"{self.change.capitalize()} throughput was {self.throughput_ratio:.3g} times as high "
            f"({self.throughput_ratio_low:.3g} to {self.throughput_ratio_high:.3g}): the load "
            "generator limits the server with which it shares the host."
        )

    why: ClassVar[str] = "What the generator uses of a saturated host, the server cannot use."
    advice: ClassVar[list[str]] = [
        "Run the load generator on another host, or keep it and the server on CPUs of their own "
        "(--engine-cpus, --server-cpus)."
    ]
    refute: ClassVar[str] = "Measure from another host: throughput must rise."


def look(run: Run) -> GeneratorSaturated | NotFound:
    """By the engine's own counts."""
    fullness = engine_fullness(run)
    if fullness < FULL:
        return NotFound(f"it used {percent(fullness)} of the CPU time it can get")
    return GeneratorSaturated(share=fullness, busy_share=fullness)


RULE = Rule(
    id="cpu_generator",
    title="CPU-bound: the load generator is saturated",
    look=look,
)
