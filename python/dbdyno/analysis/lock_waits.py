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
is S. Waits for the lock table that belong to the queue are added (queue_waits.py).

Of waits for rows, a few lock samples show neither every statement nor, of short waits, all that the
sessions showed an instant before. If they show behind whom most of a load's waits for rows are, the
others are taken to be like these: otherwise one queue would be a cause in part, and in part a wait
that nothing explains.
"""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from msgspec.structs import replace

from dbdyno.analysis.queue_waits import LOCK, queues
from dbdyno.analysis.session_samples import (
    SampledRows,
    measured_lock_samples,
    measured_samples,
    sampled_rows,
)
from dbdyno.model.recording import Recording

_LONG, _SEEN_MIN = 50, 0.5
"""Of so many sessions seen waiting, at least as many do so in the locks read next, unless reading
them took too long. Of a few, the others' blocker may be unknown."""
_MOST = 0.5
ROW_LOCKS = frozenset({"transactionid", "tuple", "record"})
"""Kinds of locks, and of waits, that stand for a row."""
Waits: TypeAlias = dict[tuple[str, int, str], float]
"""Client-seconds by kind of session, statement and name of the wait or lock."""


def lock_waits(recording: Recording) -> SampledRows | None:
    """The rows of ``blocking`` in the measured part; None if nothing was sampled."""
    samples, lock_samples = measured_samples(recording), measured_lock_samples(recording)
    if samples is None or lock_samples is None:
        return None
    found = sampled_rows(lock_samples, recording.tables["blocking"])
    sessions = recording.tables["waits"]
    seen = sampled_rows(samples, sessions)
    waited, waited_at_locks = _waited(seen), _waited(sampled_rows(lock_samples, sessions))
    in_all = {place: queue.in_all for place, queue in queues(seen).items()}
    kinds = found.rows(("waiter_who", "waiter", "lock"))
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


def _waited(sessions: SampledRows) -> Waits:
    """The sessions that wait for a lock."""
    rows = sessions.rows(("who", "statement", "wait_event"))
    is_waiting = sessions.columns["wait_type"] == LOCK
    return _sums(rows, np.where(is_waiting, sessions.client_seconds, 0.0).tolist())


def _sums(kinds: Iterable[tuple[str, int, str]], seconds: Iterable[float]) -> Waits:
    sums: Waits = {}
    for kind, its_s in zip(kinds, seconds, strict=True):
        sums[kind] = sums.get(kind, 0.0) + its_s
    return sums


def _like(kind: tuple[str, int, str], waited: Waits) -> float:
    """Waits for this kind of lock; MariaDB names the wait for ``metadata`` ``table metadata``."""
    who, statement, lock = kind
    return sum(
        seconds
        for (waiter_who, waiter, event), seconds in waited.items()
        if (waiter_who, waiter) == (who, statement) and event.endswith(lock)
    )
