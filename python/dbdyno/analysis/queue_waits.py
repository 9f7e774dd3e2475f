"""Which of the sampled waits are waits in the queue for a lock.

Besides those that the server reports as such, these are waits for PostgreSQL's lock table itself
(LWLock LockManager) at a statement that waits for locks: every session that joins a queue, leaves
it or checks it for a deadlock passes through the table, and behind a row that hundreds want, they
do so all at once. Who takes the row away takes these waits away. Elsewhere the lock table is a
bottleneck of its own.
"""

from collections import defaultdict

from msgspec import Struct

from dbdyno.analysis.session_samples import SampledRows

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


def queues(sessions: SampledRows) -> dict[Place, Queue]:
    """The queue at each place that has one."""
    for_locks: dict[Place, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    at_table: dict[Place, float] = defaultdict(float)
    rows = sessions.rows(("who", "statement", "wait_type", "wait_event"))
    for row, waited_s in zip(rows, sessions.client_seconds.tolist(), strict=True):
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
