"""Checkpoint I/O: writing and syncing dirty pages takes from the load.

Looks for: throughput that is lower around checkpoints, and what they did then: pages written,
time spent in writing and in syncing files.

Arithmetic: the loss over all checkpoints against the level of the undisturbed intervals,
tested against placing them elsewhere in the run at random. The write phase is spread on
purpose over checkpoint_completion_target of the interval; the sync phase is not.

Source: PostgreSQL manual, WAL configuration, and the server's log of checkpoints.

Wrong when: the loss comes from the images of whole pages that follow a checkpoint, not from
its writes; then full-page writes are named, too, and go first.
"""

from dbdyno.analysis.events import RunEvent
from dbdyno.analysis.protocol import POSTGRESQL
from dbdyno.explain.case import Case
from dbdyno.explain.lost import certainty_of, loss_evidence, loss_to, loss_words
from dbdyno.explain.needs import grown
from dbdyno.explain.rule import NotFound, Outcome, Rule, found, severity_of
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
    sync_s = _phase_s(checkpoints, "sync")
    return found(
        f"Around checkpoints throughput fell: {percent(loss.of_run)} of the run was lost.",
        share=loss.share,
        share_of="lost throughput",
        severity=severity_of(loss.of_run),
        certainty=certainty_of(loss),
        evidence=loss_evidence(loss) | {"pages_written": pages, "sync_s": sync_s},
        seen=[
            loss_words(loss),
            f"They wrote {count(pages)} pages and spent {seconds(_phase_s(checkpoints, 'write'))} "
            f"in writing, {seconds(sync_s)} in syncing.",
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


def _phase_s(checkpoints: list[RunEvent], wanted: str) -> float:
    """Seconds of one phase over all of them."""
    return sum(
        end - begin for event in checkpoints for name, begin, end in event.phases if name == wanted
    )


RULE = Rule(
    id="checkpoint_io", title="Checkpoint I/O", look=look, protocols=frozenset({POSTGRESQL})
)
