"""The rows that clients queue for: who waits at which statement, and how long a row is held.

    hold = Σ over the executions after the locking one to the end of its transaction
           of (mean latency − the statement's own waits for locks)

Lock waits of later statements are excluded: they are other rows' queues. The time of the locking
statement after it gets its row is excluded, and the way back of the commit, by which time the row
is free, is included: the two are about equal. They are the error of the hold: it is longer by at
most the locking statement without its lock waits, and shorter by at most a round trip, which the
fastest statement of the run bounds. Outside of a transaction block only the statement
itself counts. The rules decide what a queue means.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping

from msgspec import Struct

from dbdyno.analysis.search.bounds import row_hold_bound_tps
from dbdyno.analysis.summarize import full_record
from dbdyno.analysis.waits.lock_queue import Edge, LockQueue, statement_means_ms
from dbdyno.analysis.waits.lock_waits import ROW_LOCKS
from dbdyno.explain.needs import client_time, growth_if_reported, queue_of
from dbdyno.explain.statements.executions import executed_after, overlap
from dbdyno.explain.statements.script_text import commands, depend_on
from dbdyno.explain.statements.sql import Sql, dialect_of, fits, stands_for_many, the_one
from dbdyno.explain.statements.statements import (
    Statement,
    reads_all,
    statements_of,
    table_of,
    times_run,
    whole_name,
)
from dbdyno.model.counters import PgUserTables
from dbdyno.model.run import Run
from dbdyno.model.telemetry import NO_STATEMENT

UNKNOWN = "an unknown table"
_SLIP = 0.01
"""A smaller part of row waits is sampling error: a sample is not taken at a single instant.

So a client that has got its row may seem to wait where its next transaction begins.
"""
_ONE = 1.5
"""Rows that a statement changes: counters and executions do not begin and end at one instant."""
_ISOLATION = ("transaction_isolation", "tx_isolation")
_LETTING_GO = frozenset({"READ-COMMITTED", "READ-UNCOMMITTED"})
_SCALE = "scale"
"""The script variable for the size of the data."""


class RowHold(Struct, frozen=True, kw_only=True):
    """One statement at which clients wait for rows of one table that other clients hold.

    Statements behind a queue, on fewer rows than there are clients, are included even if nobody
    waits there, because the queue before them may be the reason for that.
    ``script_share`` is the share of the transactions that run it. ``rows``, ``hold_s`` and
    ``taken_s`` are None if they are not known; the last is the hold with its waits for other locks.
    ``is_named`` is true if its text contains the table: otherwise a trigger or the like locks for
    it. ``locks_first`` is true if it locks the first of the rows that qualify, which is the same
    one for all clients. ``locks_all`` is true if it finds its rows by reading the whole table and
    locks what it reads, ``is_drawn_over_scale`` if the range of its keys grows with the size of the
    data.
    """

    statement: int
    script: int
    script_share: float
    relation: str
    waiting_s: float
    rows: float | None
    hold_s: float | None
    hold_range_s: tuple[float, float] | None = None
    """Between what the hold is, given what a client cannot see of it."""
    taken_s: float | None = None
    while_held: Mapping[int, float] = {}
    """The executions that follow until its end, by statement; itself if it is all of it."""
    on_the_way_s: float | None = None
    """The part of the hold in which requests and answers were on the way, without lock waits."""
    is_named: bool = True
    locks_first: bool = False
    locks_all: bool = False
    is_drawn_over_scale: bool = False

    @property
    def is_alone(self) -> bool:
        """Whether it is a whole transaction."""
        return [*self.while_held] == [self.statement]

    @property
    def executions(self) -> float:
        """The number of statements that follow while the row is held."""
        return 0.0 if self.is_alone else sum(self.while_held.values())


def row_holds(run: Run) -> list[RowHold]:
    """The holds in the order of the scripts and their statements."""
    queue = queue_of(run)
    queues: dict[tuple[int, str], list[Edge]] = defaultdict(list)
    for edge in queue.edges:
        is_for_a_row = edge.lock in ROW_LOCKS and edge.waiter != NO_STATEMENT
        if is_for_a_row and edge.waiter_who == edge.blocker_who == "client":
            queues[_statement(run, edge.waiter).script, _relation(run, edge)].append(edge)
    holds = [
        _row_hold(run, queue, _Queue(script, relation, edges))
        for (script, relation), edges in queues.items()
    ]
    least_s = _SLIP * sum(hold.waiting_s for hold in holds)
    worth_it = [
        hold
        for hold in holds
        if hold.waiting_s >= least_s and not _sql_of(run, hold.statement).begins_transaction
    ]
    behind = [
        _row_hold(run, queue, _Queue(script, relation, queues.get((script, relation), [])))
        for script, relation in _shielded(run, worth_it)
    ]
    return sorted([*worth_it, *behind], key=lambda hold: hold.statement)


class _Queue(Struct, frozen=True):
    """Waits for rows of one table, of the clients that run one script."""

    script: int
    relation: str
    edges: list[Edge]


def _shielded(run: Run, seen: list[RowHold]) -> list[tuple[int, str]]:
    """Scripts and tables of few rows that they lock behind a queue, where hardly anybody waits."""
    clients = run.plan.clients
    known = {(hold.script, hold.relation) for hold in seen}
    found: dict[tuple[int, str], None] = {}
    for hold in seen:
        for number in executed_after(run, hold.statement):
            relation = _recorded(run, _statement(run, number).sql.locked_table)
            few = relation and (_rows_of(run, relation) or math.inf) < clients
            if relation and few and (hold.script, relation) not in known:
                found[hold.script, relation] = None
    return list(found)


def _recorded(run: Run, written: str | None) -> str | None:
    """The table's name in the facts; otherwise as the statement has it."""
    facts = run.before or run.after
    if facts is None or written is None or stands_for_many(written):
        return written
    return the_one(written, [table.name for table in facts.tables]) or written


def _relation(run: Run, edge: Edge) -> str:
    """The table; for a partition the whole table, since clients choose among all of its rows.

    A server does not always report whose row it is: then the table that the statement writes.
    """
    facts = run.before or run.after
    table = table_of(facts, edge.relation) if facts else None
    named = whole_name(table) if table else edge.relation
    return named or _recorded(run, _sql_of(run, edge.waiter).written_table) or UNKNOWN


def _row_hold(run: Run, queue: LockQueue, of: _Queue) -> RowHold:
    statement = _locking_statement(run, of)
    sql = _sql_of(run, statement)
    named = of.relation == UNKNOWN or any(fits(name, of.relation) for name in sql.tables)
    locks_all = _locks_all(run, statement, of.relation)
    return RowHold(
        statement=statement,
        script=of.script,
        script_share=_script_share(run, of.script),
        relation=of.relation,
        waiting_s=sum(edge.client_seconds for edge in of.edges),
        rows=None if locks_all else _rows_to_lock(run, statement, of.relation),
        hold_s=_hold_s(run, queue, statement),
        hold_range_s=_hold_range_s(run, queue, statement),
        taken_s=_taken_s(run, statement),
        while_held=executed_after(run, statement),
        on_the_way_s=_on_the_way_s(run, statement),
        is_named=named,
        locks_first=sql.locks_the_first,
        locks_all=locks_all,
        is_drawn_over_scale=_is_drawn_over_scale(run, statement),
    )


def _locks_all(run: Run, statement: int, relation: str) -> bool:
    """InnoDB locks each row that it reads to change some, and keeps all from REPEATABLE READ on.

    Other servers lock what they change.
    """
    facts = run.before or run.after
    if not run.database.has("gap_locks") or facts is None:
        return False
    levels = {facts.settings.get(name) for name in _ISOLATION}
    looks_for_some = bool(_sql_of(run, statement).equal_columns())
    return looks_for_some and not levels & _LETTING_GO and reads_all(run, statement, relation)


def _is_drawn_over_scale(run: Run, statement: int) -> bool:
    """Lua computes keys in ways that are not followed: it counts if it knows the size at all."""
    of = _statement(run, statement)
    script = run.plan.scripts[of.script]
    if script.language == "lua":
        return bool(re.search(rf"\b{_SCALE}\b", script.text))
    found = commands(script.text, dialect_of(run.database))
    return depend_on(_SCALE, of.sql.choosing_variables, found)


def _rows_to_lock(run: Run, statement: int, relation: str) -> float | None:
    """Number of rows of the table among which a transaction chooses.

    None if the statement chooses its table from several, because nobody counts how often which; or
    if it does not choose: the row is in its text, is the first that qualifies, or a trigger or
    foreign key determines it; or if it locks several rows, of which each is more likely than if it
    locked one.
    """
    sql = _sql_of(run, statement)
    if stands_for_many(sql.locked_table or "") or not sql.chooses_rows:
        return None
    if sql.locks_the_first or not sql.equal_columns() or _changed_at_once(run, relation) > _ONE:
        return None
    return _rows_of(run, relation)


def _changed_at_once(run: Run, relation: str) -> float:
    """Mean number of the table's rows that a statement changes; 0 if they are not counted."""
    counted = [
        growth_if_reported(run, counter, relation)
        for counter in (PgUserTables.n_tup_upd, PgUserTables.n_tup_del)
    ]
    executions = sum(
        times_run(run, one.number)
        for one in statements_of(run)
        if fits(one.sql.written_table, relation)
    )
    return sum(filter(None, counted)) / executions if executions else 0.0


def _locking_statement(run: Run, of: _Queue) -> int:
    """The first statement that locks rows of the table; otherwise the one with the most waiters.

    A sample is late for some sessions: they then seem to wait at another statement.
    """
    locking = [
        one.number
        for one in statements_of(run)
        if one.script == of.script and fits(one.sql.locked_table, of.relation)
    ]
    if locking:
        return min(locking)
    return max(of.edges, key=lambda edge: edge.client_seconds).waiter


def bound_tps(holds: list[RowHold], relation: str) -> float | None:
    """The throughput that one row of the table allows; None unless rows and holds are known.

    The rows are taken to be equally likely.
    """
    return _bound_tps([(hold, hold.hold_s) for hold in holds if hold.relation == relation])


def bound_range_tps(holds: list[RowHold], relation: str) -> tuple[float, float] | None:
    """Between what the bound is, by what is not known of the holds."""
    of_it = [hold for hold in holds if hold.relation == relation]
    low, high = (
        _bound_tps([(hold, hold.hold_range_s and hold.hold_range_s[end]) for hold in of_it])
        for end in (1, 0)
    )
    return (low, high) if low is not None and high is not None else None


def bound_in_one_request_tps(holds: list[RowHold], relation: str) -> float | None:
    """The bound if no request and no answer were on the way while the row is held."""
    of_it = [hold for hold in holds if hold.relation == relation]
    return _bound_tps([(hold, _without_way_s(hold)) for hold in of_it])


def _without_way_s(hold: RowHold) -> float | None:
    if hold.hold_s is None or hold.on_the_way_s is None:
        return None
    return hold.hold_s if hold.is_alone else max(hold.hold_s - hold.on_the_way_s, 0.0)


def _bound_tps(held: list[tuple[RowHold, float | None]]) -> float | None:
    ways = [
        (hold.script_share / hold.rows, hold_s)
        for hold, hold_s in held
        if hold.rows and hold_s is not None
    ]
    return row_hold_bound_tps(ways) if held and len(ways) == len(held) else None


def _hold_s(run: Run, queue: LockQueue, statement: int) -> float | None:
    """How long its row is held; None if a statement was not timed alone, or the order not known."""
    lock_ms = {time.statement: time.lock_ms for time in queue.statements}
    return _sum_s(run, statement, lambda later, mean_ms: mean_ms - lock_ms.get(later, 0.0))


def _hold_range_s(run: Run, queue: LockQueue, statement: int) -> tuple[float, float] | None:
    """From one that ends a round trip earlier to one that begins with the locking statement."""
    means_ms, held_s = statement_means_ms(run), _hold_s(run, queue, statement)
    if held_s is None or statement not in means_ms:
        return None
    if [*executed_after(run, statement)] == [statement]:
        begun_s = 0.0
    else:
        waited_ms = sum(one.lock_ms for one in queue.statements if one.statement == statement)
        begun_s = (means_ms[statement] - waited_ms) / 1e3
    return max(held_s - min(means_ms.values()) / 1e3, 0.0), held_s + begun_s


def _on_the_way_s(run: Run, statement: int) -> float | None:
    """The part of the hold in which the server had nothing to do for the transaction."""
    spent = client_time(run)

    def way_ms(later: int, mean_ms: float) -> float:
        whole = spent.share(statement=later)
        return mean_ms * spent.share("client_or_network", statement=later) / whole if whole else 0.0

    return _sum_s(run, statement, way_ms)


def _taken_s(run: Run, statement: int) -> float | None:
    return _sum_s(run, statement, lambda _, mean_ms: mean_ms)


def _sum_s(run: Run, statement: int, part_ms: Callable[[int, float], float]) -> float | None:
    """A part of each mean latency, summed up over the executions while the row is held."""
    means_ms, held = statement_means_ms(run), executed_after(run, statement)
    if not held or not means_ms.keys() >= held.keys() or overlap(run, statement):
        return None
    return sum(times * part_ms(later, means_ms[later]) for later, times in held.items()) / 1e3


def _statement(run: Run, number: int) -> Statement:
    return next(one for one in statements_of(run) if one.number == number)


def _sql_of(run: Run, number: int) -> Sql:
    return _statement(run, number).sql


def _script_share(run: Run, script: int) -> float:
    """Share of the transactions that ran to their end."""
    counts = [one.ok for one in full_record(run).scripts]
    return counts[script] / sum(counts) if sum(counts) else 1.0


def _rows_of(run: Run, relation: str) -> float | None:
    facts = run.before or run.after
    table = table_of(facts, relation) if facts else None
    return max(table.rows, 1.0) if table and table.rows >= 0 else None
