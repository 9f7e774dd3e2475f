"""Who waits for whom: the graph of sessions behind locks, built from one snapshot of them.

On our side, because asking the server session by session takes the very locks that are
looked at. Pure: what the modes mean is the caller's to say.

A session waits for those who *hold* what it asks for in a mode that excludes its own, or,
when there is none, for those who asked *before* it. Of several it is said to stand behind
one, and the chain from one to the next ends at a session that waits for nothing. A chain
that bites its own tail, a deadlock in the making, ends where it would begin again.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.targets.telemetry import Locks

Conflicts: TypeAlias = Callable[[str, str], bool]
Blockers: TypeAlias = dict[int, int]
"""Whom each waiter stands directly behind."""


class Wait(Struct, frozen=True):
    """Sessions that wait for one lock alike, and their chain.

    ``depth`` counts the steps to the root.
    """

    locks: Locks
    blocker: int
    depth: int
    root: int


def find_waits(locks: Sequence[Locks], conflicts: Conflicts) -> list[Wait]:
    """All sessions that wait behind another."""
    queues: dict[Hashable, list[Locks]] = defaultdict(list)
    for its in locks:
        queues[its.thing].append(its)
    ahead = [found for queue in queues.values() for found in _in_queue(queue, conflicts)]
    blockers: Blockers = {}
    for _, found in ahead:
        blockers.update(found)
    return [wait for its, found in ahead for wait in _waits(its, found, blockers)]


def _in_queue(queue: Sequence[Locks], conflicts: Conflicts) -> Iterator[tuple[Locks, Blockers]]:
    """Those who wait for one thing, with whom they stand behind."""
    in_the_way: dict[str, list[Locks]] = {}
    for waiting in queue:
        if not waiting.granted:
            mode = waiting.mode
            if mode not in in_the_way:
                in_the_way[mode] = [its for its in queue if conflicts(its.mode, mode)]
            yield waiting, _blockers(waiting, in_the_way[mode])


def _blockers(waiting: Locks, in_the_way: Sequence[Locks]) -> Blockers:
    """Whom each of these stands behind: the first in its way that is not itself."""
    holders = {pid for its in in_the_way if its.granted for pid in its.pids}
    if holders and holders.isdisjoint(waiting.pids):  # as nearly always
        return dict.fromkeys(waiting.pids, min(holders))
    first = nsmallest(2, {place for its in in_the_way for place in _places(its)})
    found = {}
    for place in _places(waiting):
        before = [other.pid for other in first if other < place and other.pid != place.pid]
        if before:
            found[place.pid] = before[0]
    return found


class _Place(NamedTuple):
    """Holders first, then waiters as they came, as far as that is known."""

    waits: bool
    came: float
    pid: int


def _places(locks: Locks) -> Iterator[_Place]:
    for pid, waited_s in zip(locks.pids, locks.waited_s, strict=True):
        yield _Place(not locks.granted, -(waited_s or 0.0), pid)


def _waits(waiting: Locks, found: Blockers, blockers: Blockers) -> Iterator[Wait]:
    """Those behind one session share its chain, but for whom that chain leads back to."""
    for blocker in sorted(set(found.values())):
        beyond = _chain(blocker, blockers)
        in_ring = sorted(pid for pid in beyond if found.get(pid) == blocker)
        behind = [pid for pid in waiting.pids if found.get(pid) == blocker]
        if others := [pid for pid in behind if pid not in in_ring] if in_ring else behind:
            yield _wait(waiting, others, beyond)
        for pid in in_ring:
            yield _wait(waiting, [pid], _chain(pid, blockers)[1:])


def _wait(waiting: Locks, pids: list[int], beyond: list[int]) -> Wait:
    if len(pids) < len(waiting.pids):
        waited_s = dict(zip(waiting.pids, waiting.waited_s, strict=True))
        waiting = replace(waiting, pids=pids, waited_s=[waited_s[pid] for pid in pids])
    return Wait(waiting, beyond[0], len(beyond), beyond[-1])


def _chain(pid: int, blockers: Mapping[int, int]) -> list[int]:
    """This session, the one it stands behind, and so on, each once."""
    found = [pid]
    while (after := blockers.get(found[-1])) is not None and after not in found:
        found.append(after)
    return found
