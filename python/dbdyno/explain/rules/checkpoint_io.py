"""Checkpoint I/O: writing and syncing dirty pages takes from the load.

Looks for: throughput that is lower around checkpoints, and what they did then: pages written,
time spent in writing and in syncing files.

Arithmetic: the loss over all checkpoints against the level of the undisturbed intervals,
tested against placing them elsewhere in the run at random. The write phase is spread on
purpose over checkpoint_completion_target of the interval; the sync phase is not. What came with
a single checkpoint is a hint, and minor at most.

Source: PostgreSQL manual, WAL configuration, and the server's log of checkpoints.

Wrong when: the loss comes from the images of whole pages that follow a checkpoint, not from
its writes; then full-page writes are named, too, and go first.
"""

from dbdyno.analysis.events import RunEvent
from dbdyno.analysis.protocol import POSTGRESQL
from dbdyno.explain.case import Case
from dbdyno.explain.lost import certainty_of, loss_evidence, loss_to, loss_words, severity_of_loss
from dbdyno.explain.needs import grown
from dbdyno.explain.rule import NotFound, Outcome, Rule, found
from dbdyno.explain.words import gain_words
from dbdyno.words import count, percent, seconds

_SOURCE = "pg_stat_checkpointer"


def look(case: Case) -> Outcome:
    """The loss around checkpoints, and their phases."""
    pages = grown(case, _SOURCE, "buffers_written")
    loss = loss_to(case, "checkpoint")
    if loss is None:
        return NotFound("throughput did not fall around checkpoints, or there were none")
    checkpoints = [event for event in case.events if event.kind == "checkpoint"]
    return found(
        f"Around checkpoints throughput fell: {percent(loss.of_run)} of the run was lost.",
        share=loss.share,
        share_of="lost throughput",
        severity=severity_of_loss(loss),
        certainty=certainty_of(loss),
        evidence=loss_evidence(loss)
        | {"pages_written": pages, "sync_s": _phase_s(checkpoints, "sync")},
        seen=[
            loss_words(loss),
            f"They wrote {count(pages)} pages{_phases_told(checkpoints)}.",
        ],
        why="Their writes compete with the load's reads and WAL flushes for the same storage.",
        advice=[
            "Have fewer of them: a longer checkpoint_timeout and a larger max_wal_size.",
            "Spread them: checkpoint_completion_target = 0.9, and checkpoint_flush_after so that "
            "the sync phase finds little left.",
        ],
        gain=gain_words(case, loss.of_run),
        refute="Run with checkpoint_timeout and max_wal_size so large that none comes: the dips "
        "must go.",
    )


def _phases_told(checkpoints: list[RunEvent]) -> str:
    """Only at its end a checkpoint tells how long it wrote and synced."""
    if not any(event.phases for event in checkpoints):
        return "; none had ended, and how long they wrote and synced is not known"
    written_s, synced_s = (_phase_s(checkpoints, name) for name in ("write", "sync"))
    return f" and spent {seconds(written_s)} in writing, {seconds(synced_s)} in syncing"


def _phase_s(checkpoints: list[RunEvent], wanted: str) -> float:
    """Seconds of one phase over all of them."""
    return sum(
        end - begin for event in checkpoints for name, begin, end in event.phases if name == wanted
    )


RULE = Rule(
    id="checkpoint_io", title="Checkpoint I/O", look=look, protocols=frozenset({POSTGRESQL})
)
