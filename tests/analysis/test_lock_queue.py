import pytest

from dbdyno.analysis.waits.lock_queue import lock_queue, statement_means_ms
from dbdyno.model.telemetry import BlockCount, WaitCount
from tests.support.recordings import MadeRun

TELLERS, BRANCHES, COMMIT = 0, 1, 2
RUNNING = WaitCount("client", TELLERS, "asking", "active", "", "", 1)
QUEUED = WaitCount("client", BRANCHES, "asking", "active", "Lock", "tuple", 6)
FLUSHING = WaitCount("client", BRANCHES, "asking", "active", "IO", "WALSync", 1)
WORKING = WaitCount("client", BRANCHES, "asking", "active", "", "", 3)


def behind(count, *, depth=1, row="(0,1)", waited_s=None, lock="tuple", of="pgbench_branches"):
    return BlockCount(
        "client",
        BRANCHES,
        "client",
        COMMIT,
        "client",
        COMMIT,
        "active",
        "WALSync",
        lock,
        "ExclusiveLock",
        of,
        row,
        depth,
        count,
        waited_s,
    )


def made(*blocking, looks=20):
    run = MadeRun(clients=11, seconds=10)
    for number in range(1, looks + 1):
        run.look(number * 0.5, (RUNNING, QUEUED, FLUSHING, WORKING), blocking)
    return run


def test_no_samples_were_taken():
    assert lock_queue(MadeRun().loaded()) is None


def test_no_session_waited():
    assert lock_queue(made().loaded()).edges == []


def test_an_edge_counts_its_waiters():
    (edge,) = lock_queue(made(behind(6, waited_s=0.03)).loaded()).edges
    assert (edge.waiter, edge.blocker, edge.relation) == (BRANCHES, COMMIT, "pgbench_branches")
    assert edge.client_seconds == pytest.approx(60)
    assert edge.waiters_mean == pytest.approx(6)
    assert edge.waited_ms == pytest.approx(5)
    assert edge.is_direct_to_root


def test_rare_lock_samples_stand_for_the_time_between_them():
    run = MadeRun(clients=11, seconds=10)
    for number in range(1, 21):
        at_locks = ([behind(1 + number % 3)], 2.0) if number % 4 == 0 else ((), None)
        blocking, locks_seconds = at_locks
        run.look(number * 0.5, (RUNNING, QUEUED), blocking, locks_seconds=locks_seconds)
    (edge,) = lock_queue(run.loaded()).edges
    seen = [1 + number % 3 for number in (4, 8, 12, 16, 20)]
    assert edge.client_seconds == pytest.approx(2 * sum(seen))
    assert edge.waiters_mean == pytest.approx(sum(seen) / 5)


def test_looks_without_waiters_count_for_the_mean():
    run = made()
    run.look(5.25, (), [behind(5)], seconds=0.0)
    run.look(9.75, (), [behind(5)], seconds=2.5)
    (edge,) = lock_queue(run.loaded()).edges
    assert edge.client_seconds == pytest.approx(12.5)
    assert edge.waiters_mean == pytest.approx(12.5 / 12.5)
    assert edge.waited_ms is None
    assert edge.low == 0 < edge.high


def test_rows_are_listed_with_the_most_frequent_first():
    blocking = (behind(1, row="(0,1)"), behind(3, row="(0,7)"), behind(2, row=""))
    (edge,) = lock_queue(made(*blocking).loaded()).edges
    assert edge.rows == (("(0,7)", 30.0), ("(0,1)", 10.0))


def test_a_waiter_behind_another_waiter_is_a_separate_edge():
    edges = lock_queue(made(behind(1), behind(5, depth=2)).loaded()).edges
    assert [(edge.is_direct_to_root, edge.waiters_mean) for edge in edges] == [
        (False, 5.0),
        (True, 1.0),
    ]


def test_a_wait_for_a_transaction_is_for_the_row_that_others_there_wait_for():
    unnamed = behind(2, row="", lock="transactionid", of="")
    edges = lock_queue(made(behind(1), unnamed).loaded()).edges
    assert [(edge.lock, edge.relation) for edge in edges] == [
        ("transactionid", "pgbench_branches"),
        ("tuple", "pgbench_branches"),
    ]


def test_without_a_reported_row_the_row_is_unknown():
    (edge,) = lock_queue(made(behind(2, row="", lock="transactionid", of="")).loaded()).edges
    assert edge.relation == ""


def test_a_statements_latency_is_divided_as_its_samples_are():
    run = made().latency(BRANCHES, 10.0).latency(COMMIT, 1.0)
    (time,) = lock_queue(run.loaded()).statements
    assert (time.statement, time.mean_ms) == (BRANCHES, 10.0)
    assert time.lock_ms == pytest.approx(6)
    assert time.other_wait_ms == pytest.approx(1)
    assert time.working_ms == pytest.approx(3)


def test_means_are_of_the_measured_part_and_weighted():
    run = MadeRun(seconds=2, warmup=1).latency(0, 2.0, count=10).latency(0, 5.0, count=20)
    assert statement_means_ms(run.loaded()) == {0: pytest.approx(4.0)}
