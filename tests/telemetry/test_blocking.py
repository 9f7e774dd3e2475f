"""The graph of which session waits for which, on made-up locks."""

import time

from msgspec.structs import replace

from dbdyno.databases.telemetry import Locks
from dbdyno.telemetry.blocking import find_waits

EXCLUSIVE, SHARE = "Exclusive", "Share"


def conflicts(mode: str, other: str) -> bool:
    return EXCLUSIVE in (mode, other)


def held(pid: int, key: str, mode: str = EXCLUSIVE) -> Locks:
    return Locks([pid], "kind", key, mode, True, "", "", [None])


def wanted(pid: int, key: str, mode: str = EXCLUSIVE, waited_s: float | None = None) -> Locks:
    return Locks([pid], "kind", key, mode, False, "table", "(0,1)", [waited_s])


def together(*locks: Locks) -> Locks:
    """Return the same locks in one group."""
    waited_s = [its.waited_s[0] for its in locks]
    return replace(locks[0], pids=[its.pids[0] for its in locks], waited_s=waited_s)


def graph(*locks: Locks) -> dict[int, tuple[int, int, int]]:
    """Return (blocker, root, depth) by waiter."""
    return {
        pid: (wait.blocker, wait.root, wait.depth)
        for wait in find_waits(locks, conflicts)
        for pid in wait.locks.pids
    }


def test_no_session_waits():
    assert graph(held(1, "x"), held(2, "y")) == {}


def test_a_waiter_behind_the_holder():
    assert graph(held(1, "x"), held(2, "y"), wanted(2, "x")) == {2: (1, 1, 1)}


def test_the_queue_for_a_row_is_a_chain():
    """All wait for the first in the queue, which waits for the transaction that holds the row."""
    locks = [held(1, "transaction"), held(2, "row"), wanted(2, "transaction")]
    queue = [wanted(pid, "row") for pid in range(3, 8)]
    assert graph(*locks, *queue) == {
        2: (1, 1, 1),
        **dict.fromkeys(range(3, 8), (2, 1, 2)),
    }


def test_holders_that_do_not_exclude_are_not_in_the_way():
    assert graph(held(1, "x", SHARE), wanted(2, "x", SHARE)) == {}


def test_a_waiter_behind_an_earlier_request():
    """Two share it; a third wants it exclusively; a fourth, which could share it, must queue."""
    locks = [held(1, "x", SHARE), wanted(3, "x", EXCLUSIVE, 2.0), wanted(4, "x", SHARE, 1.0)]
    assert graph(*locks) == {3: (1, 1, 1), 4: (3, 1, 2)}


def test_a_later_request_does_not_block():
    locks = [held(1, "x", SHARE), wanted(3, "x", SHARE, 2.0), wanted(4, "x", EXCLUSIVE, 1.0)]
    assert graph(*locks) == {4: (1, 1, 1)}


def test_a_deadlock_in_the_making_ends():
    locks = [held(1, "x"), held(2, "y"), wanted(1, "y"), wanted(2, "x"), wanted(3, "x")]
    assert graph(*locks) == {1: (2, 2, 1), 2: (1, 1, 1), 3: (1, 2, 2)}


def test_sessions_reported_together_count_as_each_alone():
    """A holder that requests another mode is among the waiters: it does not wait for itself."""
    locks = [held(1, "x", SHARE), held(2, "x", SHARE)]
    queue = [wanted(pid, "x", waited_s=waited_s) for pid, waited_s in ((1, 1), (3, 3), (4, 2))]
    expected = {1: (2, 2, 1), 3: (1, 2, 2), 4: (1, 2, 2)}
    assert graph(*locks, *queue) == expected
    assert graph(*locks, together(*queue)) == expected


def test_a_group_of_which_one_is_in_a_ring():
    locks = [held(1, "x"), held(2, "y"), wanted(1, "y"), together(wanted(2, "x"), wanted(3, "x"))]
    assert graph(*locks) == {1: (2, 2, 1), 2: (1, 1, 1), 3: (1, 2, 2)}


def test_five_hundred_behind_one_row_are_quick():
    queue = [wanted(pid, "row", waited_s=pid / 100) for pid in range(3, 503)]
    locks = [held(1, "transaction"), held(2, "row"), wanted(2, "transaction"), *queue]
    assert len(graph(*locks)) == 501
    # The fastest of several, as Python may collect garbage meanwhile, after thousands of tests.
    assert min(took_s(*locks) for _ in range(5)) < 0.1


def took_s(*locks: Locks) -> float:
    """Return the CPU time of one computation."""
    began = time.process_time()
    graph(*locks)
    return time.process_time() - began
