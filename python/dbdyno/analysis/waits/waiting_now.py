"""Who waits for a lock behind whom in the last lock sample: of a run in progress, now.

A single sample: how long the queue is on average is for ``lock_queue`` to say.
"""

import numpy as np
from msgspec import Struct

from dbdyno.analysis.waits.session_samples import LOCKS, SESSIONS
from dbdyno.model.run import Run
from dbdyno.model.tables import rows
from dbdyno.model.telemetry import FIRST_LOCK_SAMPLE


class LockWait(Struct, frozen=True, kw_only=True):
    """Sessions at one statement that wait behind sessions at one statement.

    ``waiter`` and ``blocker`` are whose sessions they are, and the number of their statement;
    ``waited_s`` is how long each has waited on average, None if the server does not know.
    """

    waiter: tuple[str, int]
    blocker: tuple[str, int]
    relation: str
    sessions: int
    waited_s: float | None


def waiting_now(run: Run) -> list[LockWait] | None:
    """The longest queue first; None if locks have not been read."""
    samples, seen = run.samples, run.blocking
    read_s = samples.time_s[samples.source == LOCKS]
    if not len(read_s):
        # In older folders, which do not say, all samples include locks.
        read_s = samples.time_s[samples.source == SESSIONS]
        if len(read_s) < FIRST_LOCK_SAMPLE:
            return None
    last = np.flatnonzero(seen.time_s == read_s.max())
    columns = (seen.waiter_who, seen.waiter, seen.blocker_who, seen.blocker, seen.relation)
    together: dict[tuple[tuple[str, int], tuple[str, int], str], list[tuple[int, float]]] = {}
    for place, row in zip(last.tolist(), rows(*(column[last] for column in columns)), strict=True):
        waiter_who, waiter, blocker_who, blocker, relation = row
        ends = (waiter_who, waiter), (blocker_who, blocker), relation
        number, waited_s = int(seen.count[place]), float(seen.waited_s[place])
        together.setdefault(ends, []).append((number, waited_s))
    found = [
        LockWait(
            waiter=waiter,
            blocker=blocker,
            relation=relation,
            sessions=(sessions := sum(number for number, _ in parts)),
            waited_s=_mean_s(sum(waited_s for _, waited_s in parts), sessions),
        )
        for (waiter, blocker, relation), parts in together.items()
    ]
    return sorted(found, key=lambda wait: -wait.sessions)


def _mean_s(waited_s: float, sessions: int) -> float | None:
    return None if np.isnan(waited_s) else waited_s / sessions
