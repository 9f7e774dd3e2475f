"""Which session blocks which: the graph of sessions that wait for locks, from one lock sample.

Computed here, because asking the server session by session takes the very locks that are being
sampled. Pure; the caller says which lock modes conflict.

A session waits for the sessions that *hold* what it requests in a conflicting mode or, if there are
none, for those that requested it *before*. If there are several, one of them counts as its direct
blocker, and the chain from blocker to blocker ends at a session that waits for nothing. The chain
of a deadlock in the making, which is a cycle, ends before the first session that is already in it.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.databases.telemetry import Locks

Conflicts: TypeAlias = Callable[[str, str], bool]
Blockers: TypeAlias = dict[int, int]
"""The direct blocker of each waiter."""


class Wait(Struct, frozen=True):
    """Sessions that wait for one lock in the same way, and their chain of blockers.

    ``depth`` counts the steps to the root.
    """

    locks: Locks
    blocker: int
    depth: int
    root: int


def find_waits(locks: Sequence[Locks], conflicts: Conflicts) -> list[Wait]:
    """Return all sessions that wait for another one."""
    queues: dict[Hashable, list[Locks]] = defaultdict(list)
    for its in locks:
        queues[its.object_key].append(its)
    ahead = [found for queue in queues.values() for found in _in_queue(queue, conflicts)]
    blockers: Blockers = {}
    for _, found in ahead:
        blockers.update(found)
    return [wait for its, found in ahead for wait in _waits(its, found, blockers)]


def _in_queue(queue: Sequence[Locks], conflicts: Conflicts) -> Iterator[tuple[Locks, Blockers]]:
    """Yield the waiters for one locked object, with their direct blockers."""
    in_the_way: dict[str, list[Locks]] = {}
    for waiting in queue:
        if not waiting.granted:
            mode = waiting.mode
            if mode not in in_the_way:
                in_the_way[mode] = [its for its in queue if conflicts(its.mode, mode)]
            yield waiting, _blockers(waiting, in_the_way[mode])


def _blockers(waiting: Locks, in_the_way: Sequence[Locks]) -> Blockers:
    """Return each waiter's direct blocker: the first conflicting session other than itself."""
    holders = {pid for its in in_the_way if its.granted for pid in its.pids}
    if holders and holders.isdisjoint(waiting.pids):  # the usual case
        return dict.fromkeys(waiting.pids, min(holders))
    first = nsmallest(2, {place for its in in_the_way for place in _places(its)})
    found = {}
    for place in _places(waiting):
        before = [other.pid for other in first if other < place and other.pid != place.pid]
        if before:
            found[place.pid] = before[0]
    return found


class _Place(NamedTuple):
    """A place in a lock queue: holders first, then waiters by arrival as far as it is known."""

    waits: bool
    came: float
    pid: int


def _places(locks: Locks) -> Iterator[_Place]:
    for pid, waited_s in zip(locks.pids, locks.waited_s, strict=True):
        yield _Place(not locks.granted, -(waited_s or 0.0), pid)


def _waits(waiting: Locks, found: Blockers, blockers: Blockers) -> Iterator[Wait]:
    """Yield the waits behind each blocker, with its chain.

    Waiters that are themselves in that chain (a cycle) get a chain of their own.
    """
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
    """Return this session, its blocker, that one's blocker, and so on, each once."""
    found = [pid]
    while (after := blockers.get(found[-1])) is not None and after not in found:
        found.append(after)
    return found
