"""Who waits for whom: the graph of sessions behind locks, built from one snapshot of them.

On our side, because asking the server session by session takes the very locks that are
looked at. Pure: what the modes mean is the caller's to say.

A session waits for those who *hold* what it asks for in a mode that excludes its own, or,
when there is none, for those who asked *before* it. Of several it is said to stand behind
one, and the chain from one to the next ends at a session that waits for nothing. A chain
that bites its own tail, a deadlock in the making, ends where it would begin again.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

from msgspec import Struct

from dbdyno.targets.telemetry import Lock

Conflicts: TypeAlias = Callable[[str, str], bool]


class Wait(Struct, frozen=True, gc=False):
    """A session that waits for a lock, and its chain. ``depth`` counts the steps to the root."""

    lock: Lock
    blocker: int
    depth: int
    root: int


def find_waits(locks: Sequence[Lock], conflicts: Conflicts) -> list[Wait]:
    """Each session that waits behind another."""
    waiting = {lock.pid: lock for lock in locks if not lock.granted}
    if not waiting:
        return []
    blockers = _blockers(locks, waiting, conflicts)
    # Most stand behind few: what is beyond a blocker is worked out once.
    beyond = {blocker: _chain(blocker, blockers) for blocker in set(blockers.values())}
    return [_wait(waiting[pid], beyond[blocker], blockers) for pid, blocker in blockers.items()]


def _wait(lock: Lock, beyond: list[int], blockers: dict[int, int]) -> Wait:
    """A waiter with its chain: what is beyond its blocker, unless that leads back to itself."""
    chain = _chain(lock.pid, blockers)[1:] if lock.pid in beyond else beyond
    return Wait(lock, chain[0], len(chain), chain[-1])


def _blockers(
    locks: Sequence[Lock], waiting: dict[int, Lock], conflicts: Conflicts
) -> dict[int, int]:
    """Whom each waiter stands directly behind."""
    queues: dict[Hashable, list[Lock]] = defaultdict(list)
    wanted = {lock.thing for lock in waiting.values()}
    for lock in locks:
        if lock.thing in wanted:
            queues[lock.thing].append(lock)
    found = {}
    for queue in queues.values():
        ordered = sorted(queue, key=_place)
        for waiter in (lock for lock in ordered if not lock.granted):
            blocker = _blocker(waiter, ordered, conflicts)
            if blocker is not None:
                found[waiter.pid] = blocker
    return found


def _place(lock: Lock) -> tuple[bool, float, int]:
    """Holders first, then waiters as they came, as far as that is known."""
    return (not lock.granted, -(lock.waited_s or 0.0), lock.pid)


def _blocker(waiter: Lock, ordered: Sequence[Lock], conflicts: Conflicts) -> int | None:
    """The first before it in its way: a holder if there is one, else who asked before."""
    for lock in ordered:
        if lock is waiter:
            return None
        if lock.pid != waiter.pid and conflicts(lock.mode, waiter.mode):
            return lock.pid
    return None


def _chain(pid: int, blockers: dict[int, int]) -> list[int]:
    """This session, the one it stands behind, and so on, each once."""
    chain = [pid]
    while (after := blockers.get(chain[-1])) is not None and after not in chain:
        chain.append(after)
    return chain
