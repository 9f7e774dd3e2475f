"""No complete checkpoint cycle: the run did not pay for the checkpoints its writes cause.

Looks for: a run that wrote, in which no checkpoint both started and finished.

Arithmetic: a checkpoint starts after checkpoint_timeout, or sooner when the WAL reaches
max_wal_size / (1 + checkpoint_completion_target); it takes that target's share of the time to the
next one. A run of (1 + target) times that long contains a complete one wherever it begins.

Source: PostgreSQL manual, WAL configuration.

Wrong when: the load comes in bursts that are shorter than the time between checkpoints, and a burst
is what you want to measure.
"""

from dbdyno.analysis.checkpoint_cycle import MissingCycle, missing_cycle
from dbdyno.analysis.checkpoint_events import COUNTERS
from dbdyno.analysis.protocol import POSTGRESQL
from dbdyno.explain.case import Case
from dbdyno.explain.needs import grown
from dbdyno.explain.rule import NotFound, Outcome, Rule, found
from dbdyno.formatting import seconds


def look(case: Case) -> Outcome:
    """Never above a note: the numbers are right, but incomplete."""
    grown(case, COUNTERS, "num_timed")
    missing = missing_cycle(case.recording)
    if missing is None:
        return NotFound("it contains a complete checkpoint, or next to nothing was written")
    return found(
        "No checkpoint both started and finished during the measurement: these numbers do not "
        "include the full-page images, writes and syncs of one.",
        severity="note",
        certainty="sure",
        evidence={"checkpoint_every_s": missing.every_s, "needed_s": missing.needed_s},
        seen=_seen(missing),
        why="Without a checkpoint a server is faster than it can be in continuous operation.",
        advice=[_advice(missing)],
        refute="Run long enough for two checkpoints: throughput must hold.",
    )


def _seen(missing: MissingCycle) -> list[str]:
    if missing.every_s is None:
        return []
    return [f"A checkpoint starts every {seconds(missing.every_s)} ({missing.reason})."]


def _advice(missing: MissingCycle) -> str:
    if missing.needed_s is None:
        return "Run for longer than the time between two checkpoints."
    return f"Run for at least {seconds(missing.needed_s)}: -T {missing.needed_s:.0f}."


RULE = Rule(
    id="no_checkpoint_cycle",
    title="No complete checkpoint cycle in the run",
    look=look,
    protocols=frozenset({POSTGRESQL}),
)
