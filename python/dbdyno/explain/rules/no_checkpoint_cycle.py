"""No complete checkpoint cycle: the run did not pay for the checkpoints its writes cause.

Looks for: a run that wrote, in which no checkpoint both started and finished.

Arithmetic: a checkpoint starts after checkpoint_timeout, or sooner when the WAL reaches
max_wal_size / (1 + checkpoint_completion_target); it takes that target's share of the time to the
next one. A run of (1 + target) times that long contains a complete one wherever it begins.

Source: PostgreSQL manual, WAL configuration.

Wrong when: the load comes in bursts that are shorter than the time between checkpoints, and a burst
is what you want to measure.
"""

from typing import ClassVar

from dbdyno.analysis.events.checkpoint_events import missing_cycle
from dbdyno.explain.needs import grown
from dbdyno.explain.rule import Aside, Claim, NotFound, Rule
from dbdyno.formatting import seconds
from dbdyno.model.counters import PgCheckpointer
from dbdyno.model.record import Certainty, Severity
from dbdyno.model.run import Run


class NoCheckpointCycle(Claim, frozen=True, kw_only=True):
    """How often checkpoints start, and how long a run takes that contains one; None: not known."""

    checkpoint_every_s: float | None
    needed_s: float | None
    reason: Aside[str | None] = None
    """Why they start so often."""
    severity: ClassVar[Severity] = "note"
    certainty: ClassVar[Certainty] = "sure"
    summary: ClassVar[str] = (
        "No checkpoint both started and finished during the measurement: these numbers do not "
        "include the full-page images, writes and syncs of one."
    )

    @property
    def seen(self) -> list[str]:
        if self.checkpoint_every_s is None:
            return []
        return [f"A checkpoint starts every {seconds(self.checkpoint_every_s)} ({self.reason})."]

    why: ClassVar[str] = (
        "Without a checkpoint a server is faster than it can be in continuous operation."
    )

    @property
    def advice(self) -> list[str]:
        if self.needed_s is None:
            return ["Run for longer than the time between two checkpoints."]
        return [f"Run for at least {seconds(self.needed_s)}: -T {self.needed_s:.0f}."]

    refute: ClassVar[str] = "Run long enough for two checkpoints: throughput must hold."


def look(run: Run) -> NoCheckpointCycle | NotFound:
    """Never above a note: the numbers are right, but incomplete."""
    grown(run, PgCheckpointer.num_timed)
    missing = missing_cycle(run)
    if missing is None:
        return NotFound("it contains a complete checkpoint, or next to nothing was written")
    return NoCheckpointCycle(
        checkpoint_every_s=missing.every_s, needed_s=missing.needed_s, reason=missing.reason
    )


RULE = Rule(
    id="no_checkpoint_cycle",
    title="No complete checkpoint cycle in the run",
    look=look,
    needs=frozenset({"checkpoints"}),
)
