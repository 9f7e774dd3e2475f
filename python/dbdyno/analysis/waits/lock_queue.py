"""Who waited for whom: the mean queue of statements behind locks.

Describes what was sampled, and splits each statement's latency by it; what it means for a workload
is for the rules to say.
"""

from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from dbdyno.analysis.waits.budget import Budget, budget
from dbdyno.analysis.waits.lock_waits import lock_waits
from dbdyno.analysis.waits.session_samples import (
    SampledRows,
    SessionSamples,
    client_seconds,
    measured_lock_samples,
    measured_samples,
)
from dbdyno.model.database import PartKind
from dbdyno.model.run import Run, once
from dbdyno.model.tables import Blocking, rows

_ROWS_KEPT = 10
_TRANSACTION = "transactionid"
_WORKING: tuple[PartKind, ...] = ("cpu", "client_or_network")


class Edge(Struct, frozen=True, kw_only=True):
    """Waiters at one statement behind blockers at one statement.

    ``relation`` is the table that is locked, or whose row is; empty if not even other waiters at
    the same statement show it. ``rows`` are the most frequent row positions, each with its part of
    the edge's client-seconds. ``waiters_mean`` is over all samples, including those with none;
    ``waited_ms`` is the mean time that a waiter had waited when sampled, None if it is not known.
    ``is_direct_to_root`` is true if the blocker itself waits for no lock.
    """

    waiter: int
    waiter_who: str
    blocker: int
    blocker_who: str
    lock: str
    relation: str
    rows: tuple[tuple[str, float], ...]
    client_seconds: float
    low: float | None
    high: float | None
    waiters_mean: float
    waited_ms: float | None
    is_direct_to_root: bool


class StatementTime(Struct, frozen=True, kw_only=True):
    """One statement's mean latency, split. The parts add up to ``mean_ms``.

    ``working_ms`` is time on a CPU or on the network; waiting for a CPU is another wait.
    """

    statement: int
    mean_ms: float
    lock_ms: float
    other_wait_ms: float
    working_ms: float


class LockQueue(Struct, frozen=True, kw_only=True):
    """The queue in the measured part of the run. Statements that no sample saw are left out."""

    edges: list[Edge]
    statements: list[StatementTime]


@once
def lock_queue(run: Run) -> LockQueue | None:
    """None if locks were not sampled; no edges if nobody waited."""
    samples, lock_samples = measured_samples(run), measured_lock_samples(run)
    blocking, spent = lock_waits(run), budget(run)
    if samples is None or lock_samples is None or blocking is None or spent is None:
        return None
    edges = _edges(lock_samples, blocking, samples.total_s)
    return LockQueue(edges=edges, statements=_statements(run, spent))


class _Ends(NamedTuple):
    """What identifies an edge."""

    waiter: int
    waiter_who: str
    blocker: int
    blocker_who: str
    lock: str
    relation: str
    is_direct_to_root: bool


def _edges(
    samples: SessionSamples, blocking: SampledRows[Blocking], sampled_s: float
) -> list[Edge]:
    """The edges, the one with most client-seconds first."""
    seen = blocking.table
    columns = (seen.waiter, seen.waiter_who, seen.blocker, seen.blocker_who, seen.lock)
    listed = rows(*columns, seen.relation, seen.depth == 1)
    ends = _with_relations([_Ends._make(row) for row in listed])
    members: dict[_Ends, list[int]] = defaultdict(list)
    for place, end in enumerate(ends):
        members[end].append(place)
    found = [
        Edge(
            **end._asdict(),
            rows=_rows(blocking, members[end]),
            client_seconds=spent.seconds,
            low=spent.low,
            high=spent.high,
            waiters_mean=spent.seconds / sampled_s,
            waited_ms=_waited_ms(blocking, members[end]),
        )
        for end, spent in client_seconds(samples, blocking, ends).items()
    ]
    return sorted(found, key=lambda edge: -edge.client_seconds)


def _with_relations(ends: list[_Ends]) -> list[_Ends]:
    """Fill in the relation of waits for a transaction from other waiters at the same statement.

    PostgreSQL, for one, releases the lock on the tuple while it follows the row's versions, so such
    a wait does not name a row.
    """
    named = Counter((end.waiter, end.relation) for end in ends if end.relation)
    usual: dict[int, str] = {}
    for (waiter, relation), _ in named.most_common():
        usual.setdefault(waiter, relation)
    return [
        end._replace(relation=usual.get(end.waiter, ""))
        if end.lock == _TRANSACTION and not end.relation
        else end
        for end in ends
    ]


def _rows(blocking: SampledRows[Blocking], members: list[int]) -> tuple[tuple[str, float], ...]:
    """Row positions and client-seconds, the most frequent first."""
    seconds: dict[str, float] = defaultdict(float)
    places = blocking.table.row[members].tolist()
    for place, spent_s in zip(places, blocking.client_seconds[members].tolist(), strict=True):
        if place:
            seconds[place] += spent_s
    ordered = sorted(seconds.items(), key=lambda place: -place[1])
    return tuple(ordered[:_ROWS_KEPT])


def _waited_ms(blocking: SampledRows[Blocking], members: list[int]) -> float | None:
    """Mean over the waiters whose waiting time is known."""
    waited_s = blocking.table.waited_s[members]
    is_known = ~np.isnan(waited_s)
    if not is_known.any():
        return None
    waiters = blocking.table.count[members][is_known]
    return float(waited_s[is_known].sum() / waiters.sum() * 1e3)


def _statements(run: Run, spent: Budget) -> list[StatementTime]:
    """Mean latencies by the engine, each divided in proportion to the statement's samples."""
    found = []
    for statement, mean_ms in statement_means_ms(run).items():
        whole = spent.share(statement=statement)
        if whole <= 0:
            continue
        lock = spent.share("lock", statement=statement) / whole
        working = sum(spent.share(kind, statement=statement) for kind in _WORKING) / whole
        times = StatementTime(
            statement=statement,
            mean_ms=mean_ms,
            lock_ms=mean_ms * lock,
            other_wait_ms=mean_ms * (1 - lock - working),
            working_ms=mean_ms * working,
        )
        found.append(times)
    return found


def statement_means_ms(run: Run) -> dict[int, float]:
    """The mean latency of each statement in the measured part, as the engine timed it."""
    statements, is_measured = run.statements, _is_measured(run)
    times = np.bincount(
        statements.statement[is_measured],
        (statements.count * statements.mean_ms.astype(float))[is_measured],
    )
    return {
        statement: float(times[statement] / count)
        for statement, count in statement_counts(run).items()
    }


def statement_counts(run: Run) -> dict[int, int]:
    """How often each statement was executed in the measured part, if it was."""
    statements, is_measured = run.statements, _is_measured(run)
    counts = np.bincount(statements.statement[is_measured], statements.count[is_measured])
    return {statement: int(counts[statement]) for statement in np.flatnonzero(counts).tolist()}


def _is_measured(run: Run) -> np.ndarray:
    intervals = run.intervals
    found: np.ndarray = np.isin(
        run.statements.interval, intervals.interval[intervals.phase != "warmup"]
    )
    return found
