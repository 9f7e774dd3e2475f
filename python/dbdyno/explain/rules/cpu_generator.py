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

from dbdyno.analysis.processor_time import SATURATED, ProcessorTime
from dbdyno.explain.case import Case
from dbdyno.explain.processors import FULL, engine_fullness, processor_time
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, at_most, found, severity_of
from dbdyno.explain.sentences import gain_text
from dbdyno.formatting import percent
from dbdyno.model.record import Finding


def look(case: Case) -> Outcome:
    """A saturated engine first: then the run's numbers are about the engine."""
    fullness = engine_fullness(case)
    if fullness >= FULL:
        return _full(fullness)
    used = processor_time(case)
    if used.in_use < SATURATED:
        return NotFound(f"it used {percent(fullness)} of the CPU time it can get")
    if used.engine < NOTICED:
        return NotFound(f"it used {percent(used.engine)} of the CPU")
    return _shared(case, used)


def _full(fullness: float) -> Finding:
    return found(
        f"The load generator used {percent(fullness)} of the CPU time it can get: these numbers "
        "show its limit, not the server's.",
        title="CPU-bound: the load generator is saturated",
        share=fullness,
        severity="critical",
        certainty="sure",
        evidence={"busy_share": fullness},
        why="A saturated load generator starts transactions late and reads replies late.",
        advice=[
            "Give it more threads (-j) and cores for them (--engine-cpus), or run it on another "
            "host."
        ],
        refute="Give it twice the threads and cores: throughput must rise.",
    )


def _shared(case: Case, used: ProcessorTime) -> Finding:
    return found(
        f"The load generator used {percent(used.engine)} of the CPU of a saturated host, which the "
        "server on the same host could not use.",
        share=used.engine,
        severity=at_most("minor", severity_of(used.engine)),
        certainty="likely",
        evidence={"engine_share": used.engine, "server_share": used.server},
        seen=[
            f"CPU utilization: {percent(used.in_use)}, of which server {percent(used.server)}, "
            f"load generator {percent(used.engine)}."
        ],
        why="On one host the two compete for CPU: the numbers describe both together.",
        advice=["Run the load from another host, or compare only with runs of the same setup."],
        gain=gain_text(case, used.engine),
        refute="Run the load from another host: throughput must rise.",
    )


RULE = Rule(
    id="cpu_generator",
    title="CPU-bound: the load generator",
    look=look,
    covers=frozenset({"round_trips"}),
)
