"""How often statements are executed after another one, before its transaction ends.

A script in pgbench's language has its statements in their order. A workload's Lua declares them in
any order, and sysbench's scripts have none: there the order is that of the transactions which the
engine keeps, the slowest ones of each script. Such a transaction has more lines or tries than
others; so only the order is taken from it, and how often each statement ran is counted in the run:

    after(s, t) = executions of t for each transaction that runs s
                  · the part of them that follow the first s, in the transactions kept

A statement that none of these ran follows as often as their others.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from dbdyno.analysis.waits.lock_queue import statement_counts
from dbdyno.explain.statements.statements import Statement, statements_of
from dbdyno.model.run import Run, once
from dbdyno.model.tables import rows

_ENDS = frozenset({"end", "commit", "rollback", "abort"})
_ENOUGH = 300
"""Transactions of a script, spread over the run, whose order is read."""
_OVERLAP = 1.1
"""Of the time of a transaction: more that its statements took, added up, is no rounding."""


def executed_after(run: Run, statement: int) -> Mapping[int, float]:
    """The mean number of executions of each statement that follows, with the end itself.

    Outside of BEGIN and COMMIT each statement is a transaction of its own: itself, once. Empty if
    the order is not known.
    """
    own = _beside(run, statement)
    script = own[0].script
    if not any(one.sql.begins_transaction for one in own):
        return {statement: 1.0}
    if run.plan.lua or run.plan.scripts[script].language == "lua":
        return _as_seen(run, statement, own)
    order = [one.number for one in own]
    after = _in_block(run, order, order.index(statement))
    return dict.fromkeys(after or [statement], 1.0)


def _beside(run: Run, statement: int) -> list[Statement]:
    """The statements of its script, itself included."""
    of_all = statements_of(run)
    script = next(one.script for one in of_all if one.number == statement)
    return [one for one in of_all if one.script == script]


def _as_seen(run: Run, statement: int, own: Sequence[Statement]) -> Mapping[int, float]:
    kept, counts = _kept(run).get(own[0].script, []), statement_counts(run)
    with_it = [steps for steps in kept if statement in steps]
    if not with_it or statement not in counts:
        return {}
    executed = Counter(step for steps in kept for step in steps)
    follow = Counter(
        step for steps in with_it for step in _in_block(run, steps, steps.index(statement))
    )
    if not follow:
        return {statement: 1.0}
    transactions = counts[statement] * len(with_it) / executed[statement]
    of_others = follow.total() / executed.total()
    after = {
        one.number: counts.get(one.number, 0)
        / transactions
        * (follow[one.number] / executed[one.number] if one.number in executed else of_others)
        for one in own
    }
    return {number: times for number, times in after.items() if times}


@once
def _kept(run: Run) -> Mapping[int, list[list[int]]]:
    """The statements of the transactions that were kept, in order, by script."""
    kept: dict[int, list[list[int]]] = defaultdict(list)
    slowest = run.slowest
    for script, steps, time_s in rows(slowest.script, slowest.statements, slowest.time_s):
        if time_s >= 0:
            kept[script].append([step["statement"] for step in steps])
    return {script: seen[:: math.ceil(len(seen) / _ENOUGH)] for script, seen in kept.items()}


def overlap(run: Run, statement: int) -> bool:
    """Whether statements of its script are sent before the one before is answered: a pipeline.

    Their latencies then overlap, and add up to more than their transactions took.
    """
    script, slowest = _beside(run, statement)[0].script, run.slowest
    spent_ms = lasted_ms = 0.0
    for of, steps, service_ms in rows(slowest.script, slowest.statements, slowest.service_ms):
        if of == script:
            spent_ms += sum(step["ms"] for step in steps)
            lasted_ms += service_ms
    return spent_ms > lasted_ms * _OVERLAP


def _in_block(run: Run, order: Sequence[int], place: int) -> Sequence[int]:
    """Those after this place to the end of its transaction; none outside of BEGIN and COMMIT."""
    begins = {one.number for one in statements_of(run) if one.sql.begins_transaction}
    ends = {one.number for one in statements_of(run) if one.sql.verb in _ENDS}
    borders = [number for number in order[:place] if number in begins | ends]
    if not borders or borders[-1] in ends:
        return []
    closed = (at for at in range(place, len(order)) if order[at] in ends)
    return order[place + 1 : next(closed, len(order) - 1) + 1]
