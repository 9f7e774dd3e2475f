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

from dbdyno.analysis.events import RunEvent
from dbdyno.analysis.protocol import POSTGRESQL
from dbdyno.explain.case import Case
from dbdyno.explain.event_losses import (
    certainty_of,
    loss_evidence,
    loss_text,
    loss_to,
    severity_of_loss,
    share_of_losses,
)
from dbdyno.explain.needs import grown
from dbdyno.explain.rule import NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import gain_text
from dbdyno.formatting import count, percent, seconds

_SOURCE = "pg_stat_checkpointer"


def look(case: Case) -> Outcome:
    """Report the loss around checkpoints, and their phases."""
    pages = grown(case, _SOURCE, "buffers_written")
    loss = loss_to(case, "checkpoint")
    if loss is None:
        return NotFound("throughput did not fall around checkpoints, or there were none")
    checkpoints = [event for event in case.events if event.kind == "checkpoint"]
    share = share_of_losses(loss)
    return found(
        "Throughput fell around checkpoints: this cost "
        f"{percent(loss.of_run)} of the run's throughput.",
        share=share,
        share_of="lost throughput" if share is not None else "",
        severity=severity_of_loss(loss),
        certainty=certainty_of(loss),
        evidence=loss_evidence(loss)
        | {"pages_written": pages, "sync_s": _phase_s(checkpoints, "sync")},
        seen=[
            loss_text(loss),
            f"They wrote {count(pages)} pages{_phases_text(checkpoints)}.",
        ],
        why="Checkpoint writes compete with the load's reads and WAL flushes for storage.",
        advice=[
            "Make checkpoints less frequent: raise checkpoint_timeout and max_wal_size.",
            "Spread their writes: checkpoint_completion_target = 0.9, and set "
            "checkpoint_flush_after so that little is left for the sync phase.",
        ],
        gain=gain_text(case, loss.of_run),
        refute="Run with checkpoint_timeout and max_wal_size so large that no checkpoint occurs: "
        "the dips must disappear.",
    )


def _phases_text(checkpoints: list[RunEvent]) -> str:
    """A checkpoint reports only at its end how long it wrote and synced."""
    if not any(event.phases for event in checkpoints):
        return "; none had finished, so their write and sync times are not known"
    written_s, synced_s = (_phase_s(checkpoints, name) for name in ("write", "sync"))
    return f" and spent {seconds(written_s)} writing and {seconds(synced_s)} syncing"


def _phase_s(checkpoints: list[RunEvent], wanted: str) -> float:
    """Seconds of one phase over all checkpoints."""
    return sum(
        end - begin for event in checkpoints for name, begin, end in event.phases if name == wanted
    )


RULE = Rule(
    id="checkpoint_io", title="Checkpoint I/O", look=look, protocols=frozenset({POSTGRESQL})
)
