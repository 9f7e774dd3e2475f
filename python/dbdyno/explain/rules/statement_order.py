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

from typing import Any

from dbdyno.analysis.bounds import EXCEEDED, gain_factor
from dbdyno.analysis.lock_queue import statement_means_ms
from dbdyno.explain.case import Case
from dbdyno.explain.convoy import convoy_of, waited_among_clients
from dbdyno.explain.needs import client_time, committed, server_facts, throughput_tps
from dbdyno.explain.order import Advice, Bound, advise
from dbdyno.explain.processors import own_utilization
from dbdyno.explain.rule import (
    NOTICED,
    CouldNotLook,
    NotFound,
    Outcome,
    Rule,
    at_most,
    found,
    severity_of,
)
from dbdyno.explain.script_text import commands
from dbdyno.explain.sentences import bound_exceeded_text, bound_text, rise_text
from dbdyno.explain.sql import in_short
from dbdyno.explain.transactions import TimedScript, UnknownRowsError, UnorderableError
from dbdyno.formatting import milliseconds, percent
from dbdyno.model.record import Finding
from dbdyno.model.recording import rows


def look(case: Case) -> Outcome:
    """The order matters only if clients wait for each other."""
    waiting = waited_among_clients(case, client_time(case))
    if waiting < NOTICED:
        part = percent(waiting)
        return NotFound(f"clients waited for each other's locks for {part} of their time")
    committed(case)  # if nothing succeeded, no order is known to be better
    convoy = convoy_of(case)
    if convoy and convoy.is_uneven:
        return CouldNotLook(f"some rows of {convoy.hot.relation} are hot; how many is not known")
    known_rows = {table.name: table.rows for table in server_facts(case).tables if table.rows > 0}
    try:
        advice = advise(timed_scripts(case), known_rows)
    except UnknownRowsError as unknown:
        return CouldNotLook(str(unknown))
    except UnorderableError as refusal:
        return NotFound(str(refusal))
    return _outcome(case, advice, waiting)


def _outcome(case: Case, advice: Advice | None, waiting: float) -> Outcome:
    if advice is None:
        return NotFound("no row is locked until the end of a transaction")
    if advice.crossing is not None:
        return NotFound(_crossing_text(advice.crossing))
    gain = _gain(case, advice, waiting)
    if 1 - 1 / gain < NOTICED:
        return NotFound("no order of the statements holds the hottest row for less time")
    return _finding(case, advice, gain)


def timed_scripts(case: Case) -> list[TimedScript]:
    """Every statement with its mean time, without its waits for locks.

    A script of which no transaction succeeded does not affect the choice of an order.
    """
    queue = case.lock_queue
    lock_ms = {one.statement: one.lock_ms for one in queue.statements} if queue else {}
    means_ms = statement_means_ms(case.recording)
    working_ms = {
        number: mean_ms - lock_ms.get(number, 0.0) for number, mean_ms in means_ms.items()
    }
    numbers = rows(case.recording.tables["statement_texts"], ("script", "statement"))
    done = [one.ok for one in case.record.scripts]
    return [
        TimedScript(
            name=script["name"],
            share=done[place] / sum(done),
            text=script["text"],
            seconds=[working_ms.get(n, 0.0) / 1e3 for of, n in sorted(numbers) if of == place],
            round_trip_s=min(means_ms.values(), default=0.0) / 1e3,
        )
        for place, script in enumerate(case.recording.plan["scripts"])
        if done[place]
    ]


def _gain(case: Case, advice: Advice, waiting: float) -> float:
    """Largest factor by which throughput can rise."""
    bounded = advice.after.tps / advice.before.tps
    return max(min(bounded, gain_factor(waiting, own_utilization(case))), 1.0)


def _crossing_text(crossing: tuple[str, str, str, str]) -> str:
    one, other, first, second = crossing
    return (
        f"a better order would lock {first} before {second} in {one} and after it in {other}, "
        "which causes deadlocks"
    )


def _finding(case: Case, advice: Advice, gain: float) -> Finding:
    before, after = advice.before, advice.after
    measured_tps = throughput_tps(case)
    is_exceeded = measured_tps > before.tps * EXCEEDED
    severity = severity_of(1 - 1 / gain)
    return found(
        f"Rows of {before.table} are locked earlier than necessary: each is held for "
        f"{_held(before)}; in the best statement order {_after_text(before, after)}.",
        title=f"Statement order: {before.table} is locked too early",
        severity=at_most("minor", severity) if is_exceeded else severity,
        certainty="hint" if is_exceeded else "likely",
        evidence=_evidence(advice, gain),
        seen=[
            bound_exceeded_text(before.tps, measured_tps)
            if is_exceeded
            else f"The row limits throughput to {bound_text(before.tps, before.range_tps)}; in the "
            f"best order the limit is {bound_text(after.tps, after.range_tps)}, by {after.table}."
        ],
        why="A row stays locked until the transaction ends, so every client in the queue waits for "
        "all statements after the one that locks it.",
        advice=[f"Run {name} in this order: {_listed(advice, name)}." for name in advice.changed],
        gain="Not known: --verify measures it." if is_exceeded else rise_text(case, gain),
        refute=f"dbdyno explain {case.record.run_id} --verify",
    )


def _held(bound: Bound) -> str:
    return milliseconds(bound.hold_s * 1e3)


def _after_text(before: Bound, after: Bound) -> str:
    if after.table == before.table:
        return f"for {_held(after)}"
    return f"rows of {after.table} limit throughput instead, held for {_held(after)}"


def _listed(advice: Advice, name: str) -> str:
    """The statements of a script in short, in their new order."""
    texts = [one.text for one in commands(advice.scripts[name]) if one.is_sql]
    return ", ".join(map(in_short, texts))


def _evidence(advice: Advice, gain: float) -> dict[str, Any]:
    return {
        "table": advice.before.table,
        "bound_before_tps": advice.before.tps,
        "bound_before_range_tps": advice.before.range_tps,
        "bound_after_tps": advice.after.tps,
        "bound_after_range_tps": advice.after.range_tps,
        "hold_before_ms": advice.before.hold_s * 1e3,
        "hold_after_ms": advice.after.hold_s * 1e3,
        "gain_predicted": gain,
        "scripts": {name: advice.scripts[name] for name in advice.changed},
    }


RULE = Rule(id="statement_order", title="Statement order", look=look)
