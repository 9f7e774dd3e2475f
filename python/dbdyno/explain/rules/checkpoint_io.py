"""Checkpoint I/O: writing and syncing dirty pages slows the load.

Looks for: throughput that is lower around checkpoints, and what the checkpoints did then: pages
written, time spent writing and syncing files.

Arithmetic: the loss during all checkpoints relative to the level of the undisturbed intervals,
tested against placing the checkpoints at random elsewhere in the run. The write phase is
deliberately spread over checkpoint_completion_target of the time between checkpoints; the sync
phase is not. A loss around a single checkpoint is a hint, and minor at most.

Source: PostgreSQL manual, WAL configuration, and the server's log of checkpoints.

Wrong when: the loss comes from the full-page images that follow a checkpoint, not from its writes;
then full-page writes are reported too, and are the first thing to address.
"""

from typing import ClassVar

from dbdyno.analysis.events.events import RunEvent, events
from dbdyno.explain.gains import gains_in
from dbdyno.explain.needs import grown
from dbdyno.explain.resources.event_losses import LossClaim, loss_to, numbers_of
from dbdyno.explain.rule import Aside, NotFound, Rule
from dbdyno.formatting import count, percent, seconds
from dbdyno.model.counters import PgCheckpointer
from dbdyno.model.run import Run


class CheckpointIo(LossClaim, frozen=True, kw_only=True):
    """Throughput lost around checkpoints, and their phases."""

    pages_written: float
    sync_s: float
    write_s: Aside[float]
    has_finished: Aside[bool]
    """A checkpoint reports only at its end how long it wrote and synced."""

    @property
    def summary(self) -> str:
        return (
            "Throughput fell around checkpoints: this cost "
            f"{percent(self.loss.share_of_run)} of the run's throughput."
        )

    @property
    def seen(self) -> list[str]:
        phases = "; none had finished, so their write and sync times are not known"
        if self.has_finished:
            phases = (
                f" and spent {seconds(self.write_s)} writing and {seconds(self.sync_s)} syncing"
            )
        return [self.loss.text, f"They wrote {count(self.pages_written)} pages{phases}."]

    why: ClassVar[str] = (
        "Checkpoint writes compete with the load's reads and WAL flushes for storage."
    )
    advice: ClassVar[list[str]] = [
        "Make checkpoints less frequent: raise checkpoint_timeout and max_wal_size.",
        "Spread their writes: checkpoint_completion_target = 0.9, and set checkpoint_flush_after "
        "so that little is left for the sync phase.",
    ]
    refute: ClassVar[str] = (
        "Run with checkpoint_timeout and max_wal_size so large that no checkpoint occurs: the dips "
        "must disappear."
    )


def look(run: Run) -> CheckpointIo | NotFound:
    """Report the loss around checkpoints, and their phases."""
    pages = grown(run, PgCheckpointer.buffers_written)
    lost = loss_to(run, "checkpoint")
    if lost is None:
        return NotFound("throughput did not fall around checkpoints, or there were none")
    loss = numbers_of(lost)
    checkpoints = [event for event in events(run) if event.kind == "checkpoint"]
    return CheckpointIo(
        share=loss.share_of_loss,
        loss=loss,
        gains=gains_in(run),
        pages_written=pages,
        sync_s=_phase_s(checkpoints, "sync"),
        write_s=_phase_s(checkpoints, "write"),
        has_finished=any(event.phases for event in checkpoints),
    )


def _phase_s(checkpoints: list[RunEvent], wanted: str) -> float:
    """Seconds of one phase over all checkpoints."""
    return sum(
        end - begin for event in checkpoints for name, begin, end in event.phases if name == wanted
    )


RULE = Rule(
    id="checkpoint_io",
    title="Checkpoint I/O",
    look=look,
    needs=frozenset({"checkpoints"}),
    events=frozenset({"checkpoint"}),
)
