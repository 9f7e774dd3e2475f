"""No whole checkpoint: the run did not pay for what it left behind.

Looks for: a run that wrote, in which no checkpoint both began and ended.

Arithmetic: a checkpoint comes after checkpoint_timeout, or sooner when the WAL reaches
max_wal_size / (1 + checkpoint_completion_target); it takes that target's share of the time to
the next one. A run of (1 + target) times that holds a whole one wherever it begins.

Source: PostgreSQL manual, WAL configuration.

Wrong when: the load comes in bursts that are shorter than the time between checkpoints, and is
to be measured as such.
"""

from dbdyno.analysis.checkpoint_cycle import MissingCycle, missing_cycle
from dbdyno.analysis.checkpoint_events import COUNTERS
from dbdyno.analysis.protocol import POSTGRESQL
from dbdyno.explain.case import Case
from dbdyno.explain.needs import grown
from dbdyno.explain.rule import NotFound, Outcome, Rule, found
from dbdyno.words import seconds


def look(case: Case) -> Outcome:
    """Never above a note: the numbers are right, of a part of the truth."""
    grown(case, COUNTERS, "num_timed")
    missing = missing_cycle(case.recording)
    if missing is None:
        return NotFound("a checkpoint both began and ended in it, or next to nothing was written")
    return found(
        "No checkpoint both began and ended while the run was measured: its images of pages, "
        "writes and syncs are not in these numbers.",
        severity="note",
        certainty="sure",
        evidence={"checkpoint_every_s": missing.every_s, "needed_s": missing.needed_s},
        seen=_seen(missing),
        why="A server that is never checkpointed is faster than any that lasts.",
        advice=[_advice(missing)],
        refute="Run long enough for two checkpoints: throughput must hold.",
    )


def _seen(missing: MissingCycle) -> list[str]:
    if missing.every_s is None:
        return []
    return [f"One comes every {seconds(missing.every_s)} ({missing.reason})."]


def _advice(missing: MissingCycle) -> str:
    if missing.needed_s is None:
        return "Run longer than two checkpoints take to come."
    return f"Run for {seconds(missing.needed_s)} at least: -T {missing.needed_s:.0f}."


RULE = Rule(
    id="no_checkpoint_cycle",
    title="No whole checkpoint cycle in the run",
    look=look,
    protocols=frozenset({POSTGRESQL}),
)
