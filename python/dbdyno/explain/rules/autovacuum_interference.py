"""Autovacuum slows the load while it runs.

Looks for: throughput that is lower while autovacuum workers run than otherwise.

Arithmetic: the loss during all autovacuum runs relative to the level of the undisturbed intervals,
tested against placing the same events at random elsewhere in the run; overlapping events share a
loss by regression. A loss during a single autovacuum run is a hint, and minor at most.

Source: PostgreSQL manual, the autovacuum daemon and cost-based vacuum delay; the test is a
randomization test (Edgington and Onghena, Randomization Tests, 2007).

Wrong when: autovacuum was triggered by what also slows the load, such as a burst of updates.
"""

from dbdyno.analysis.protocol import POSTGRESQL
from dbdyno.explain.case import Case
from dbdyno.explain.event_losses import (
    certainty_of,
    loss_evidence,
    loss_text,
    loss_to,
    severity_of_loss,
)
from dbdyno.explain.needs import known_objects
from dbdyno.explain.rule import NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import and_so_on, gain_text
from dbdyno.formatting import percent, seconds


def look(case: Case) -> Outcome:
    """Report the loss, and the tables that were vacuumed."""
    if not len(case.recording.tables["log_entries"]["time_s"]):
        known_objects(case, "pg_stat_user_tables")  # without a log, its counters show vacuums
    loss = loss_to(case, "autovacuum")
    if loss is None:
        return NotFound("throughput did not fall while autovacuum ran, or it did not run")
    vacuums = [event for event in case.events if event.kind == "autovacuum"]
    length_s = sum(event.end_s - event.begin_s for event in vacuums)
    labels = sorted({event.label for event in vacuums})
    return found(
        f"Throughput fell while autovacuum ran ({and_so_on(labels)}): this cost "
        f"{percent(loss.of_run)} of the run's throughput.",
        share=loss.share,
        share_of="lost throughput",
        severity=severity_of_loss(loss),
        certainty=certainty_of(loss),
        evidence=loss_evidence(loss) | {"autovacuums": labels, "seconds": length_s},
        seen=[loss_text(loss), f"Autovacuum ran for {seconds(length_s)} in total."],
        why="Vacuum reads and dirties pages, which takes cache and I/O from the load, writes WAL, "
        "and uses CPU.",
        advice=[
            "Spread its work: lower autovacuum_vacuum_cost_limit or raise "
            "autovacuum_vacuum_cost_delay.",
            "Let it run sooner, with less work each time (lower autovacuum_vacuum_scale_factor); "
            "do not turn it off.",
        ],
        gain=gain_text(case, loss.of_run),
        refute="Run again with autovacuum_vacuum_cost_delay ten times as long: the dips must "
        "become shallower.",
    )


RULE = Rule(
    id="autovacuum_interference",
    title="Autovacuum slows the load",
    look=look,
    protocols=frozenset({POSTGRESQL}),
)
