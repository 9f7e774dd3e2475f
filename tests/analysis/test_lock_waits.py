"""Client-seconds behind blockers where fewer samples include the locks than the sessions."""

import pytest

from dbdyno.analysis.waits.budget import budget
from dbdyno.analysis.waits.lock_queue import lock_queue
from dbdyno.analysis.waits.lock_waits import lock_waits
from dbdyno.model.telemetry import BlockCount, WaitCount
from tests.support.recordings import MadeRun

CLIENTS, SECONDS = 16, 5
UPDATE = 1


def waiting(event, count=CLIENTS, statement=UPDATE):
    return WaitCount("client", statement, "asking", "active", "Lock", event, count)


def behind(who, lock, count=CLIENTS):
    state = ("idle in transaction", "ClientRead") if who == "foreign" else ("active", "")
    end = (who, -1 if who == "foreign" else UPDATE)
    return BlockCount(
        *("client", UPDATE, *end, *end, *state),
        *(lock, "ExclusiveLock", "accounts", "", 1, count, None),
    )


def held_at_first(event="relation", lock="relation"):
    """A foreign session holds a table for two of five seconds, seen by one lock sample of two."""
    run = MadeRun(clients=CLIENTS, seconds=SECONDS)
    for number in range(1, 11):
        seen = [waiting(event if number <= 4 else "transactionid")]
        blocking, locks_seconds = [], None
        if number == 1:
            blocking, locks_seconds = [behind("foreign", lock)], 2.0
        elif number == 10:
            blocking, locks_seconds = [behind("client", "transactionid")], 4.5
        run.look(number * 0.5, seen, blocking, locks_seconds=locks_seconds)
    return run.loaded()


def test_a_wait_counts_for_as_long_as_session_samples_show_it():
    found = budget(held_at_first())
    assert found.behind("foreign") == pytest.approx(2 / 5)
    assert found.behind("client") == pytest.approx(3 / 5)
    edges = {edge.blocker_who: edge.waiters_mean for edge in lock_queue(held_at_first()).edges}
    assert edges == pytest.approx({"foreign": CLIENTS * 2 / 5, "client": CLIENTS * 3 / 5})


def test_mariadb_has_two_names_for_a_wait_for_a_table_s_definition():
    found = budget(held_at_first("table metadata", "metadata"))
    assert found.behind("foreign") == pytest.approx(2 / 5)


def test_waits_that_only_the_lock_view_shows_count_as_they_are():
    found = lock_waits(held_at_first("virtualxid", "relation"))
    assert found.client_seconds.tolist()[0] == pytest.approx(CLIENTS * 0.5)


def test_what_sessions_and_locks_show_at_slightly_different_instants_is_not_multiplied():
    run = MadeRun(clients=CLIENTS, seconds=SECONDS)
    for number in range(1, 11):
        at_locks = number in (5, 10)
        seen = [waiting("tuple", 1 if at_locks else 2)]
        blocking = [behind("client", "tuple", 6)] if at_locks else []
        run.look(number * 0.5, seen, blocking, locks_seconds=2.5 if at_locks else None)
    (edge,) = lock_queue(run.loaded()).edges
    waited, waited_at_locks, seen_behind = 0.5 * (8 * 2 + 2 * 1), 5 * 1, 5 * 6
    assert edge.client_seconds == pytest.approx(seen_behind + waited - waited_at_locks)


@pytest.mark.parametrize(("known", "behind_clients"), [(2, 3), (1, 1)])
def test_waits_for_rows_of_unknown_holders_are_like_the_others_if_these_are_most(
    known, behind_clients
):
    run = MadeRun(clients=CLIENTS, seconds=SECONDS)
    for number in range(1, 11):
        seen = [waiting("tuple", 2), waiting("transactionid", 1, statement=3)]
        run.look(number * 0.5, seen, [behind("client", "tuple", known)])
    (edge,) = lock_queue(run.loaded()).edges
    assert edge.client_seconds == pytest.approx(behind_clients * SECONDS)
    spent = budget(run.loaded())
    assert spent.share("lock") == pytest.approx(3 / CLIENTS)
    assert spent.behind("client") == pytest.approx(behind_clients / CLIENTS)


def test_waits_for_tables_tell_nothing_of_waits_for_rows():
    run = MadeRun(clients=CLIENTS, seconds=SECONDS)
    for number in range(1, 11):
        seen = [waiting("tuple", 2), waiting("relation", 4, statement=3)]
        run.look(number * 0.5, seen, [behind("client", "tuple", 2)])
    assert budget(run.loaded()).behind("client") == pytest.approx(2 / CLIENTS)


def test_nothing_was_sampled():
    assert lock_waits(MadeRun().loaded()) is None


def at_lock_table(count, statement=UPDATE):
    event = "LockManager"
    return WaitCount("client", statement, "asking", "active", "LWLock", event, count)


def test_of_a_long_queue_the_locks_tell_only_behind_whom_it_waits():
    """By the time that the locks have been read, most of 400 sessions are seen no more."""
    run = MadeRun(clients=500, seconds=SECONDS)
    for number in range(1, 11):
        run.look(number * 0.5, [waiting("tuple", 400)], [behind("client", "tuple", 20)])
    assert budget(run.loaded()).behind("client") == pytest.approx(400 / 500)


def test_waits_for_the_lock_table_belong_to_the_queue_of_their_statement():
    other = 3
    run = MadeRun(clients=CLIENTS, seconds=SECONDS)
    for number in range(1, 11):
        seen = [waiting("tuple", 6), at_lock_table(6), at_lock_table(4, other)]
        run.look(number * 0.5, seen, [behind("client", "tuple", 6)])
    found = budget(run.loaded())
    assert found.share("lock", "tuple", UPDATE) == pytest.approx(12 / CLIENTS)
    assert found.behind("client") == pytest.approx(12 / CLIENTS)
    # Where nobody waits for a lock, the lock table is a bottleneck of its own.
    assert found.share("lwlock", "LockManager", other) == pytest.approx(4 / CLIENTS)


def test_a_rare_wait_for_a_lock_makes_no_queue_of_a_busy_lock_table():
    run = MadeRun(clients=CLIENTS, seconds=SECONDS)
    for number in range(1, 11):
        run.look(number * 0.5, [waiting("tuple", 1), at_lock_table(8)], [])
    assert budget(run.loaded()).share("lwlock") == pytest.approx(8 / CLIENTS)
