"""Lock waits as client-seconds: the lock samples' chains, each for as long as sessions waited so.

Where reading locks is expensive, fewer samples include them: these show behind whom sessions wait,
while all samples show how many wait, at which statement and for which kind of lock. A single lock
sample may stand for seconds in which the queue came or went. So the lock samples' waits of each
statement and kind of lock are scaled to those of all session samples (double sampling with ratio
estimation: Neyman, *JASA* 33, 1938; Cochran, *Sampling Techniques*, chapter 12):

    B · (1 + (S − S′) / max(S′, B))

B are the client-seconds in the lock samples, S those of such waits in all session samples, and S′
those in the session samples that include locks. If all do, nothing is scaled. S′ and B differ
because sessions and locks are not read at one instant: waits that only one of them saw are not
multiplied. But reading the locks of a queue of hundreds takes so long that they show a fraction of
the sessions that were just seen waiting (29 of 442): then they tell only behind whom, and the total
is S. Waits for the lock table that belong to the queue are added.

Of waits for rows, a few lock samples show neither every statement nor, of short waits, all that the
sessions showed an instant before. If they show behind whom most of a load's waits for rows are, the
others are taken to be like these: otherwise one queue would be a cause in part, and in part a wait
that nothing explains.

Waits in the queue for a lock are, besides those that the server reports as such, waits for
PostgreSQL's lock table itself (LWLock LockManager) at a statement that waits for locks: every
session that joins a queue, leaves it or checks it for a deadlock passes through the table, and
behind a row that hundreds want, they do so all at once. Who takes the row away takes these waits
away. Elsewhere the lock table is a bottleneck of its own.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dbdyno.analysis.waits.session_samples import (
    SampledRows,
    measured_lock_samples,
    measured_samples,
    sampled_rows,
)
from dbdyno.model.run import Run
from dbdyno.model.tables import Blocking, Waits, rows

LOCK = "Lock"
_TABLE = "lockmanager"
"""How the event begins, in lower case and without underscores (until 12: ``lock_manager``)."""
_QUEUE_MIN = 0.25
"""Waits for locks over those for the lock table: with fewer there is hardly a queue."""
Place = tuple[str, int]
"""Kind of session, and number of its statement."""


class Queue(Struct, frozen=True):
    """The lock that most wait for, and all waits of the queue over those reported as for locks."""

    lock: str
    in_all: float


def is_at_lock_table(wait_event: str) -> bool:
    """Whether it is a wait for the lock table itself."""
    return wait_event.casefold().replace("_", "").startswith(_TABLE)


def queues(sessions: SampledRows[Waits]) -> dict[Place, Queue]:
    """The queue at each place that has one."""
    for_locks: dict[Place, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    at_table: dict[Place, float] = defaultdict(float)
    seen = sessions.table
    kinds = rows(seen.who, seen.statement, seen.wait_type, seen.wait_event)
    for row, waited_s in zip(kinds, sessions.client_seconds.tolist(), strict=True):
        who, statement, wait_type, event = row
        if wait_type == LOCK:
            for_locks[who, statement][event] += waited_s
        elif is_at_lock_table(event):
            at_table[who, statement] += waited_s
    return {
        place: Queue(max(locks, key=locks.__getitem__), 1.0 + at_table[place] / reported_s)
        for place, locks in for_locks.items()
        if (reported_s := sum(locks.values())) and reported_s >= _QUEUE_MIN * at_table[place]
    }


_LONG, _SEEN_MIN = 50, 0.5
"""Of so many sessions seen waiting, at least as many do so in the locks read next, unless reading
them took too long. Of a few, the others' blocker may be unknown."""
_MOST = 0.5
ROW_LOCKS = frozenset({"transactionid", "tuple", "record"})
"""Kinds of locks, and of waits, that stand for a row."""
ByKind: TypeAlias = dict[tuple[str, int, str], float]
"""Client-seconds by kind of session, statement and name of the wait or lock."""


def lock_waits(run: Run) -> SampledRows[Blocking] | None:
    """The rows of ``blocking`` in the measured part; None if nothing was sampled."""
    samples, lock_samples = measured_samples(run), measured_lock_samples(run)
    if samples is None or lock_samples is None:
        return None
    found = sampled_rows(lock_samples, run.blocking)
    sessions = run.waits
    seen = sampled_rows(samples, sessions)
    waited, waited_at_locks = _waited(seen), _waited(sampled_rows(lock_samples, sessions))
    in_all = {place: queue.in_all for place, queue in queues(seen).items()}
    kinds = rows(found.table.waiter_who, found.table.waiter, found.table.lock)
    long_s = _LONG * lock_samples.total_s
    factors = {
        kind: in_all.get(kind[:2], 1.0) * _scale(_like(kind, waited), at_locks_s, behind_s, long_s)
        for kind, behind_s in _sums(kinds, found.client_seconds.tolist()).items()
        if (at_locks_s := _like(kind, waited_at_locks))
    }
    scale = np.array([factors.get(kind, 1.0) for kind in kinds])
    known_s = found.client_seconds * scale
    are_for_rows = np.array([_is_for_a_row(who, lock) for who, _, lock in kinds], dtype=bool)
    for_rows_s = sum(
        seconds * in_all.get((who, statement), 1.0)
        for (who, statement, event), seconds in waited.items()
        if _is_for_a_row(who, event)
    )
    behind_s = float(known_s[are_for_rows].sum())
    if _MOST * for_rows_s <= behind_s < for_rows_s:
        known_s[are_for_rows] *= for_rows_s / behind_s
    return replace(found, client_seconds=known_s)


def _is_for_a_row(who: str, lock: str) -> bool:
    return who == "client" and lock in ROW_LOCKS


def _scale(in_all_s: float, at_locks_s: float, behind_s: float, long_s: float) -> float:
    """What a client-second of the lock samples stands for."""
    if at_locks_s > long_s and behind_s < _SEEN_MIN * at_locks_s:
        return in_all_s / behind_s
    return 1 + (in_all_s - at_locks_s) / max(at_locks_s, behind_s)


def _waited(sessions: SampledRows[Waits]) -> ByKind:
    """The sessions that wait for a lock."""
    seen = sessions.table
    kinds = rows(seen.who, seen.statement, seen.wait_event)
    is_waiting = seen.wait_type == LOCK
    return _sums(kinds, np.where(is_waiting, sessions.client_seconds, 0.0).tolist())


def _sums(kinds: Iterable[tuple[str, int, str]], seconds: Iterable[float]) -> ByKind:
    sums: ByKind = {}
    for kind, its_s in zip(kinds, seconds, strict=True):
        sums[kind] = sums.get(kind, 0.0) + its_s
    return sums


def _like(kind: tuple[str, int, str], waited: ByKind) -> float:
    """Waits for this kind of lock; MariaDB names the wait for ``metadata`` ``table metadata``."""
    who, statement, lock = kind
    return sum(
        seconds
        for (waiter_who, waiter, event), seconds in waited.items()
        if (waiter_who, waiter) == (who, statement) and event.endswith(lock)
    )
