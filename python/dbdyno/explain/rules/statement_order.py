"""Statement order: a hot row is locked earlier in the transaction than necessary.

Looks for: transactions whose clients wait for each other's row locks, and whose statements could
run in another order that holds the limiting row for a shorter time.

Arithmetic: a row locked with probability p and held for h seconds limits the rate to 1/(p·h); h is
the time of all statements after the locking one to the end of the commit, without lock waits. Of
the orders that respect dependencies (variables, tables that are written and used again, BEGIN first
and END last) the one with the highest bound takes, at each place, the statement whose p·h would be
smallest. Throughput rises at most by the ratio of the bounds, by 1/(1 − the share of lock waits
that end at another client and in no deadlock), and by what CPU capacity remains. A bound's interval
is from what clients cannot see of a hold: it may begin as early as the locking statement is sent,
and end a round trip before the commit is received, which the fastest statement bounds. Where more
transactions pass than a row held for so long allows (InnoDB releases it before its redo is on
storage) the finding is a hint, and minor at most.

Source: Lawler, Management Science 19, 1973, for the order; Denning and Buzen, Computing Surveys 10,
1978, for the bound.

Wrong when: a trigger or a foreign key links the tables, the order serves readers of the tables, or
keys are skewed, so that a larger table has the hotter row.
"""

from typing import ClassVar

from dbdyno.analysis.search.bounds import EXCEEDED, gain_factor
from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.lock_queue import lock_queue, statement_means_ms
from dbdyno.engine import Dialect
from dbdyno.explain.gains import LimitClaim, gains_in
from dbdyno.explain.locks.convoy import convoy_of, waited_among_clients
from dbdyno.explain.needs import client_time, committed, server_facts, throughput_tps
from dbdyno.explain.resources.processors import own_utilization
from dbdyno.explain.rule import (
    NOTICED,
    Aside,
    CouldNotLook,
    NotFound,
    Rule,
    at_most,
    severity_of,
)
from dbdyno.explain.sentences import bound_exceeded_text, bound_text
from dbdyno.explain.statements.order import Advice, advise
from dbdyno.explain.statements.script_text import commands
from dbdyno.explain.statements.sql import dialect_of
from dbdyno.explain.statements.transactions import TimedScript, UnknownRowsError, UnorderableError
from dbdyno.formatting import milliseconds, percent
from dbdyno.model.record import Certainty, Severity
from dbdyno.model.run import Run
from dbdyno.model.tables import rows


class StatementOrder(LimitClaim, frozen=True, kw_only=True):
    """The row that limits throughput, as the statements are ordered and in the best order."""

    table: str
    bound_before_tps: float
    bound_before_range_tps: tuple[float, float]
    bound_after_tps: float
    bound_after_range_tps: tuple[float, float]
    hold_before_ms: float
    hold_after_ms: float
    gain_predicted: float
    """The largest factor by which throughput can rise."""
    scripts: dict[str, str]
    """Those that change, in their new order."""
    table_after: Aside[str]
    """The table whose row limits throughput then."""
    measured_tps: Aside[float]
    run_id: Aside[str]
    dialect: Aside[Dialect] = "standard"

    @property
    def is_exceeded(self) -> bool:
        """Whether more transactions pass than a row held for so long allows."""
        return self.measured_tps > self.bound_before_tps * EXCEEDED

    @property
    def title(self) -> str:
        return f"Statement order: {self.table} is locked too early"

    @property
    def severity(self) -> Severity:
        severity = severity_of(1 - 1 / self.gain_predicted)
        return at_most("minor", severity) if self.is_exceeded else severity

    @property
    def certainty(self) -> Certainty:
        return "hint" if self.is_exceeded else "likely"

    @property
    def summary(self) -> str:
        held = milliseconds(self.hold_after_ms)
        then = f"rows of {self.table_after} limit throughput instead, held for {held}"
        if self.table_after == self.table:
            then = f"for {held}"
        return (
            f"Rows of {self.table} are locked earlier than necessary: each is held for "
            f"{milliseconds(self.hold_before_ms)}; in the best statement order {then}."
        )

    @property
    def seen(self) -> list[str]:
        if self.is_exceeded:
            return [bound_exceeded_text(self.bound_before_tps, self.measured_tps)]
        before = bound_text(self.bound_before_tps, self.bound_before_range_tps)
        after = bound_text(self.bound_after_tps, self.bound_after_range_tps)
        return [
            f"The row limits throughput to {before}; in the best order the limit is {after}, by "
            f"{self.table_after}."
        ]

    why: ClassVar[str] = (
        "A row stays locked until the transaction ends, so every client in the queue waits for all "
        "statements after the one that locks it."
    )

    @property
    def advice(self) -> list[str]:
        """The statements of each script in short."""
        listed = {
            name: ", ".join(one.sql.in_short for one in commands(text, self.dialect) if one.is_sql)
            for name, text in self.scripts.items()
        }
        return [f"Run {name} in this order: {order}." for name, order in listed.items()]

    @property
    def gain(self) -> str:
        if self.is_exceeded:
            return "Not known: --verify measures it."
        return self.gains.rise(self.gain_predicted)

    @property
    def refute(self) -> str:
        return f"dbdyno explain {self.run_id} --verify"


def look(run: Run) -> StatementOrder | NotFound | CouldNotLook:
    """The order matters only if clients wait for each other."""
    waiting = waited_among_clients(run, client_time(run))
    if waiting < NOTICED:
        part = percent(waiting)
        return NotFound(f"clients waited for each other's locks for {part} of their time")
    committed(run)  # if nothing succeeded, no order is known to be better
    convoy = convoy_of(run)
    if convoy and convoy.is_uneven:
        return CouldNotLook(f"some rows of {convoy.hot.relation} are hot; how many is not known")
    known_rows = {table.name: table.rows for table in server_facts(run).tables if table.rows > 0}
    try:
        advice = advise(timed_scripts(run), known_rows)
    except UnknownRowsError as unknown:
        return CouldNotLook(str(unknown))
    except UnorderableError as refusal:
        return NotFound(str(refusal))
    return _if_better(run, advice, waiting)


def _if_better(run: Run, advice: Advice | None, waiting: float) -> StatementOrder | NotFound:
    if advice is None:
        return NotFound("no row is locked until the end of a transaction")
    if advice.crossing is not None:
        return NotFound(_crossing_text(advice.crossing))
    before, after = advice.before, advice.after
    gain = max(min(after.tps / before.tps, gain_factor(waiting, own_utilization(run))), 1.0)
    if 1 - 1 / gain < NOTICED:
        return NotFound("no order of the statements holds the hottest row for less time")
    return StatementOrder(
        table=before.table,
        bound_before_tps=before.tps,
        bound_before_range_tps=before.range_tps,
        bound_after_tps=after.tps,
        bound_after_range_tps=after.range_tps,
        hold_before_ms=before.hold_s * 1e3,
        hold_after_ms=after.hold_s * 1e3,
        gain_predicted=gain,
        scripts={name: advice.scripts[name] for name in advice.changed},
        table_after=after.table,
        measured_tps=throughput_tps(run),
        run_id=full_record(run).run_id,
        dialect=dialect_of(run.database),
        gains=gains_in(run),
    )


def timed_scripts(run: Run) -> list[TimedScript]:
    """Every statement with its mean time, without its waits for locks.

    A script of which no transaction succeeded does not affect the choice of an order.
    """
    queue = lock_queue(run)
    lock_ms = {one.statement: one.lock_ms for one in queue.statements} if queue else {}
    means_ms = statement_means_ms(run)
    working_ms = {
        number: mean_ms - lock_ms.get(number, 0.0) for number, mean_ms in means_ms.items()
    }
    numbers = rows(run.statement_texts.script, run.statement_texts.statement)
    done = [one.ok for one in full_record(run).scripts]
    return [
        TimedScript(
            name=script.name,
            share=done[place] / sum(done),
            text=script.text,
            dialect=dialect_of(run.database),
            seconds=[working_ms.get(n, 0.0) / 1e3 for of, n in sorted(numbers) if of == place],
            round_trip_s=min(means_ms.values(), default=0.0) / 1e3,
        )
        for place, script in enumerate(run.plan.scripts)
        if done[place]
    ]


def _crossing_text(crossing: tuple[str, str, str, str]) -> str:
    one, other, first, second = crossing
    return (
        f"a better order would lock {first} before {second} in {one} and after it in {other}, "
        "which causes deadlocks"
    )


RULE = Rule(id="statement_order", title="Statement order", look=look)
