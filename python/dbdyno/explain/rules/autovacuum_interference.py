"""Autovacuum slows the load while it runs.

Looks for: throughput that is lower while autovacuum workers run than otherwise.

Arithmetic: the loss during all autovacuum runs relative to the level of the undisturbed intervals,
tested against placing the same events at random elsewhere in the run; overlapping events share a
loss by regression. A loss during a single autovacuum run, or during several that did not lose
alike, is a hint, and minor at most. The table whose autovacuum took most time comes first.

Source: PostgreSQL manual, the autovacuum daemon and cost-based vacuum delay; the test is a
randomization test (Edgington and Onghena, Randomization Tests, 2007).

Wrong when: autovacuum was triggered by what also slows the load, such as a burst of updates.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from dbdyno.analysis.events import RunEvent
from dbdyno.analysis.protocol import POSTGRESQL
from dbdyno.analysis.server_events import AUTOVACUUM_OF
from dbdyno.explain.autovacuum import pauses
from dbdyno.explain.case import Case
from dbdyno.explain.event_losses import (
    certainty_of,
    loss_evidence,
    loss_text,
    loss_to,
    severity_of_loss,
    share_of_losses,
)
from dbdyno.explain.needs import known_objects
from dbdyno.explain.rule import NotFound, Outcome, Rule, found
from dbdyno.explain.sentences import and_so_on, gain_text
from dbdyno.explain.statements import table_of
from dbdyno.formatting import percent, seconds
from dbdyno.model.telemetry import ServerFacts

_PAUSE_MORE = (
    "Spread its work: lower autovacuum_vacuum_cost_limit or raise autovacuum_vacuum_cost_delay."
)
_PAUSE = (
    "Spread its work: set autovacuum_vacuum_cost_delay = 2ms. It is 0: autovacuum never pauses, "
    "whatever autovacuum_vacuum_cost_limit is."
)


def look(case: Case) -> Outcome:
    """Report the loss, and the tables that were vacuumed."""
    if not len(case.recording.tables["log_entries"]["time_s"]):
        known_objects(case, "pg_stat_user_tables")  # without a log, its counters show vacuums
    loss = loss_to(case, "autovacuum")
    if loss is None:
        return NotFound("throughput did not fall while autovacuum ran, or it did not run")
    vacuums = [event for event in case.events if event.kind == "autovacuum"]
    lasted_s = _seconds_by_label(vacuums)
    length_s, labels = sum(lasted_s.values()), list(lasted_s)
    share = share_of_losses(loss)
    advice, tried = _remedy(case, labels[0])
    return found(
        f"Throughput fell while autovacuum ran ({and_so_on(labels)}): this cost "
        f"{percent(loss.of_run)} of the run's throughput.",
        share=share,
        share_of="lost throughput" if share is not None else "",
        severity=severity_of_loss(loss),
        certainty=certainty_of(loss),
        evidence=loss_evidence(loss) | {"autovacuums": labels, "seconds": length_s},
        seen=[loss_text(loss), _length_text(lasted_s)],
        why="Vacuum reads and dirties pages, which takes cache and I/O from the load, writes WAL, "
        "and uses CPU.",
        advice=[
            advice,
            "Let it run sooner, with less work each time (lower autovacuum_vacuum_scale_factor); "
            "do not turn it off.",
        ],
        gain=gain_text(case, loss.of_run),
        refute=f"Run again with {tried}: the dips must become shallower.",
    )


def _seconds_by_label(vacuums: Sequence[RunEvent]) -> dict[str, float]:
    """How long the autovacuums of each table took, the longest first."""
    lasted_s: dict[str, float] = defaultdict(float)
    for event in vacuums:
        lasted_s[event.label] += event.end_s - event.begin_s
    return dict(sorted(lasted_s.items(), key=lambda one: one[1], reverse=True))


def _length_text(lasted_s: Mapping[str, float]) -> str:
    """How long they took, and the longest of several."""
    longest, longest_s = next(iter(lasted_s.items()))
    of_longest = f", the {longest} for {seconds(longest_s)}" if len(lasted_s) > 1 else ""
    return f"Autovacuum ran for {seconds(sum(lasted_s.values()))} in total{of_longest}."


def _remedy(case: Case, longest: str) -> tuple[str, str]:
    """What to change, and the experiment: a delay of 0 cannot be made ten times as long."""
    facts = case.before or case.after or ServerFacts()
    if pauses(facts, table_of(facts, longest.removeprefix(AUTOVACUUM_OF))):
        return _PAUSE_MORE, "autovacuum_vacuum_cost_delay ten times as long"
    return _PAUSE, "autovacuum_vacuum_cost_delay = 20ms"


RULE = Rule(
    id="autovacuum_interference",
    title="Autovacuum slows the load",
    look=look,
    protocols=frozenset({POSTGRESQL}),
)
