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
from collections.abc import Sequence
from typing import ClassVar

from dbdyno.analysis.events.events import RunEvent, events
from dbdyno.analysis.events.server_events import AUTOVACUUM_OF
from dbdyno.explain.gains import gains_in
from dbdyno.explain.needs import known_objects
from dbdyno.explain.resources.autovacuum import leaves_more, pauses
from dbdyno.explain.resources.event_losses import LossClaim, loss_to, numbers_of
from dbdyno.explain.rule import Aside, NotFound, Rule
from dbdyno.explain.sentences import and_so_on
from dbdyno.explain.statements.statements import table_of
from dbdyno.formatting import percent, seconds
from dbdyno.model.counters import PgUserTables
from dbdyno.model.run import Run
from dbdyno.model.telemetry import ServerFacts


class AutovacuumInterference(LossClaim, frozen=True, kw_only=True):
    """Throughput lost while autovacuum ran."""

    autovacuums: list[str]
    """The longest first."""
    seconds: float
    longest_s: Aside[float]
    pauses: Aside[bool]
    """Whether autovacuum pauses now and then: a delay of 0 cannot be made ten times as long."""
    leaves_more: Aside[bool] = False
    """Whether dead rows rise although it runs."""

    @property
    def summary(self) -> str:
        return (
            f"Throughput fell while autovacuum ran ({and_so_on(self.autovacuums)}): this cost "
            f"{percent(self.loss.share_of_run)} of the run's throughput."
        )

    @property
    def seen(self) -> list[str]:
        longest = f", the {self.autovacuums[0]} for {seconds(self.longest_s)}"
        return [
            self.loss.text,
            f"Autovacuum ran for {seconds(self.seconds)} in total"
            f"{longest if len(self.autovacuums) > 1 else ''}.",
        ]

    why: ClassVar[str] = (
        "Vacuum reads and dirties pages, which takes cache and I/O from the load, writes WAL, and "
        "uses CPU."
    )

    @property
    def advice(self) -> list[str]:
        sooner = (
            "Let it run sooner, with less work each time (lower autovacuum_vacuum_scale_factor); "
            "do not turn it off."
        )
        if self.leaves_more:
            return [f"Do not slow it down: dead rows rise although it runs. {sooner}"]
        return [
            "Spread its work: lower autovacuum_vacuum_cost_limit or raise "
            "autovacuum_vacuum_cost_delay."
            if self.pauses
            else "Spread its work: set autovacuum_vacuum_cost_delay = 2ms. It is 0: autovacuum "
            "never pauses, whatever autovacuum_vacuum_cost_limit is.",
            sooner,
        ]

    @property
    def refute(self) -> str:
        delay = "ten times as long" if self.pauses else "= 20ms"
        return (
            f"Run again with autovacuum_vacuum_cost_delay {delay}: the dips must become shallower."
        )


def look(run: Run) -> AutovacuumInterference | NotFound:
    """Report the loss, and the tables that were vacuumed."""
    if not len(run.log_entries):
        known_objects(run, PgUserTables.source)  # without a log, its counters show vacuums
    lost = loss_to(run, "autovacuum")
    if lost is None:
        return NotFound("throughput did not fall while autovacuum ran, or it did not run")
    loss = numbers_of(lost)
    vacuums = [event for event in events(run) if event.kind == "autovacuum"]
    lasted_s = _seconds_by_label(vacuums)
    longest, longest_s = next(iter(lasted_s.items()))
    facts = run.before or run.after or ServerFacts()
    table = longest.removeprefix(AUTOVACUUM_OF)
    known = table_of(facts, table)
    return AutovacuumInterference(
        share=loss.share_of_loss,
        loss=loss,
        gains=gains_in(run),
        autovacuums=list(lasted_s),
        seconds=sum(lasted_s.values()),
        longest_s=longest_s,
        pauses=pauses(facts, known),
        leaves_more=leaves_more(run, facts, known, table),
    )


def _seconds_by_label(vacuums: Sequence[RunEvent]) -> dict[str, float]:
    """How long the autovacuums of each table took, the longest first."""
    lasted_s: dict[str, float] = defaultdict(float)
    for event in vacuums:
        lasted_s[event.label] += event.end_s - event.begin_s
    return dict(sorted(lasted_s.items(), key=lambda one: one[1], reverse=True))


RULE = Rule(
    id="autovacuum_interference",
    title="Autovacuum slows the load",
    look=look,
    needs=frozenset({"autovacuum"}),
    events=frozenset({"autovacuum"}),
)
