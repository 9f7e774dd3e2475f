"""The load generator is what is full, or takes the processors that the server needs.

Looks for: an engine that takes nearly all of the processor time it can have, so that it cannot
offer more load; and an engine that takes a good part of a machine whose processors are all in use.

Arithmetic: the engine's processor time over (processors × seconds) is how full it is; of
processors it can have as many at once as it has threads, if it may use so many. On a full
machine that it shares with the server, the share w of the processors it takes is what the
server would gain on a machine of its own: a factor of up to 1 / (1 − w).

Source: utilization law, U = X · S (Denning and Buzen, Computing Surveys 10, 1978).

Wrong when: one script only needs the processor (Lua, heavy arithmetic) and the others do not;
the mean over the threads then hides the one that is full.
"""

from dbdyno.explain.case import Case
from dbdyno.explain.needs import needed
from dbdyno.explain.processors import SATURATED, ProcessorTime, processor_time
from dbdyno.explain.rule import NOTICED, NotFound, Outcome, Rule, at_most, found, severity_of
from dbdyno.explain.words import gain_words
from dbdyno.model.record import Finding
from dbdyno.words import percent

FULL = 0.9


def look(case: Case) -> Outcome:
    """Full first: then its numbers are about itself."""
    fullness = _fullness(case)
    if fullness >= FULL:
        return _full(fullness)
    used = processor_time(case)
    if used.in_use < SATURATED:
        return NotFound(f"it took {percent(fullness)} of the processor time it can have")
    if used.engine < NOTICED:
        return NotFound(f"it took {percent(used.engine)} of the processors")
    return _shared(case, used)


def _fullness(case: Case) -> float:
    """The share that the engine took of the processor time it can have."""
    intervals = case.recording.tables["intervals"]
    measured = intervals["phase"] == "measure"
    seconds = float(intervals["seconds"][measured].sum())
    busy_s = float(intervals["cpu_us"][measured].sum()) / 1e6
    return busy_s / needed(seconds * _processors(case) or None, "nothing was measured")


def _processors(case: Case) -> int:
    """How many the engine can have at once. Its first versions told only their threads."""
    told: int | None = case.recording.engine.get("hello", {}).get("processors")
    return told or needed(case.recording.plan.get("threads"), "the plan tells no threads")


def _full(fullness: float) -> Finding:
    return found(
        f"The load generator took {percent(fullness)} of the processor time it can have: these "
        "numbers are its limit, not the server's.",
        title="CPU bound: the load generator is full",
        share=fullness,
        severity="critical",
        certainty="sure",
        evidence={"busy_share": fullness},
        why="A generator that is full starts transactions late and reads answers late.",
        advice=[
            "Give it more threads (-j) and processors for them (--engine-cpus), or run it on "
            "another machine."
        ],
        refute="Give it twice the threads and the processors: throughput must rise.",
    )


def _shared(case: Case, used: ProcessorTime) -> Finding:
    return found(
        f"The load generator took {percent(used.engine)} of processors that are all in use; the "
        "server on the same machine could not have them.",
        share=used.engine,
        severity=at_most("minor", severity_of(used.engine)),
        certainty="likely",
        evidence={"engine_share": used.engine, "server_share": used.server},
        seen=[
            f"Processors in use: {percent(used.in_use)}, by the server {percent(used.server)}, "
            f"by the load generator {percent(used.engine)}."
        ],
        why="On one machine the two compete: what is measured is both together.",
        advice=[
            "Run the load from another machine, or compare runs of this kind among themselves."
        ],
        gain=gain_words(case, used.engine),
        refute="Run the load from another machine: throughput must rise.",
    )


RULE = Rule(
    id="cpu_generator",
    title="CPU bound: the load generator",
    look=look,
    covers=frozenset({"round_trips"}),
)
