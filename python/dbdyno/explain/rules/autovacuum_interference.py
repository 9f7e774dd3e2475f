"""Autovacuum takes from the load while it works.

Looks for: throughput that is lower while autovacuum workers run than otherwise.

Arithmetic: the loss over all autovacuums against the level of the undisturbed intervals,
tested against placing them elsewhere in the run at random; overlapping events share a loss by
regression. What came with a single autovacuum is a hint, and minor at most.

Source: PostgreSQL manual, the autovacuum daemon and cost-based vacuum delay; the test by
misplacing is one of randomization (Edgington and Onghena, Randomization Tests, 2007).

Wrong when: autovacuum came because of what also slows the load, such as a burst of updates.
"""

from dbdyno.analysis.protocol import POSTGRESQL
from dbdyno.explain.case import Case
from dbdyno.explain.lost import certainty_of, loss_evidence, loss_to, loss_words, severity_of_loss
from dbdyno.explain.needs import known_objects
from dbdyno.explain.rule import NotFound, Outcome, Rule, found
from dbdyno.explain.words import and_so_on, gain_words
from dbdyno.words import percent, seconds


def look(case: Case) -> Outcome:
    """The loss, and the tables that were vacuumed."""
    if not len(case.recording.tables["log_entries"]["time_s"]):
        known_objects(case, "pg_stat_user_tables")  # without a log, its counters tell
    loss = loss_to(case, "autovacuum")
    if loss is None:
        return NotFound("throughput did not fall while autovacuum ran, or it did not run")
    vacuums = [event for event in case.events if event.kind == "autovacuum"]
    length_s = sum(event.end_s - event.begin_s for event in vacuums)
    labels = sorted({event.label for event in vacuums})
    return found(
        f"While autovacuum ran ({and_so_on(labels)}), throughput fell: "
        f"{percent(loss.of_run)} of the run was lost to it.",
        share=loss.share,
        share_of="lost throughput",
        severity=severity_of_loss(loss),
        certainty=certainty_of(loss),
        evidence=loss_evidence(loss) | {"autovacuums": labels, "seconds": length_s},
        seen=[loss_words(loss), f"Autovacuum ran for {seconds(length_s)} in all."],
        why="A vacuum reads and dirties pages that the load needs in the cache, writes WAL, and "
        "takes a processor.",
        advice=[
            "Spread it: a smaller autovacuum_vacuum_cost_limit or a longer cost_delay takes less "
            "at a time.",
            "Let it come sooner to less work (autovacuum_vacuum_scale_factor); do not turn it off.",
        ],
        gain=gain_words(case, loss.of_run),
        refute="Run again with autovacuum_vacuum_cost_delay ten times as long: the dips must get "
        "shallower.",
    )


RULE = Rule(
    id="autovacuum_interference",
    title="Autovacuum takes from the load",
    look=look,
    protocols=frozenset({POSTGRESQL}),
)
