"""The statements for which clients wait, as reported at the plan's instants, match the server's."""

import struct
import time

import pytest

from dbdyno.model.frame import Activity, Connected, Started
from dbdyno.model.telemetry import IDLE, PAUSING, UNCONNECTED
from tests.engine.running import MS, SECOND, plan_for, times
from tests.support.patience import wait_until

INTERVAL_NS = 20 * MS
TOUCH = "select 1;\nupdate guarded set n = n + 1;\nselect 2;"
STATEMENTS = {0, 1, 2}


def clients(activity: Activity) -> list[tuple[int, int]]:
    """Return what each client did, and the process that served it."""
    doing = struct.unpack(f"<{len(activity.statements) // 2}H", activity.statements)
    backends = struct.unpack(f"<{len(activity.backends) // 4}I", activity.backends)
    return list(zip(doing, backends, strict=True))


def doing(activity: Activity) -> set[int]:
    return {each for each, _ in clients(activity)}


@pytest.fixture
def guarded(local):
    with local.connect() as connection:
        connection.execute("create table guarded as select 0 as n")
        yield connection
        connection.execute("drop table guarded")


def test_clients_behind_a_lock_are_seen_awaiting_it(local, guarded, checked, io):
    """All of them, except briefly, and their processes are those that the server lists."""
    locked: list[tuple[int, int, set[int]]] = []

    def lock(engine) -> None:
        time.sleep(0.3)
        with guarded.transaction():
            guarded.execute("lock table guarded")
            wait_until(lambda: len(waiting(guarded)) == 5, "all clients wait for the lock")
            begin = time.monotonic_ns()
            time.sleep(0.5)
            locked.append((begin, time.monotonic_ns(), waiting(guarded)))
        time.sleep(0.1)
        engine.stop()

    plan = plan_for(
        local.endpoint(),
        TOUCH,
        clients=5,
        threads=2,
        io=io,
        seconds=60,
        warmup_ns=SECOND // 5,
        activity_interval_ns=INTERVAL_NS,
    )
    result = checked(plan, lock)
    activities = result.all(Activity)
    ((begin, end, processes),) = locked
    within = [each for each in activities if begin < each.at_ns < end]
    assert within
    for activity in within:
        assert clients(activity) == [(1, pid) for pid in result.one(Connected).backend_pids]
        assert {pid for _, pid in clients(activity)} == processes
    seen = set.union(*(doing(each) for each in activities))
    assert seen <= STATEMENTS | {IDLE, UNCONNECTED}


def waiting(connection) -> set[int]:
    """Return the processes of the load that wait for a lock."""
    query = """select pid from pg_stat_activity
        where application_name = 'load' and wait_event_type = 'Lock'"""
    return {row[0] for row in connection.execute(query)}


def test_the_instants_lie_on_the_grid_from_the_load_s_begin(local, checked):
    plan = plan_for(
        local.endpoint(),
        "select 1;",
        rate_tps=50,
        seconds=1,
        warmup_ns=3 * SECOND // 2,
        activity_interval_ns=INTERVAL_NS,
    )
    result = checked(plan)
    start = result.one(Started).monotonic_ns
    steps = [(each.at_ns - start) / INTERVAL_NS for each in result.all(Activity)]
    assert steps == sorted(set(steps))
    assert all(step == int(step) for step in steps)
    assert steps[0] < 75  # within the warm-up
    assert len(steps) > 10  # of 125: a busy host skips some


def test_without_request_the_engine_sends_no_activity(local, checked):
    result = checked(plan_for(local.endpoint(), "select 1;"))
    assert not result.all(Activity)


def test_pauses_and_other_processes(local, checked):
    """With a connection for each transaction, each transaction has another process."""
    plan = plan_for(
        local.endpoint(),
        "select 1;\n\\sleep 100 ms\nselect 2;",
        reconnect_each_transaction=True,
        activity_interval_ns=INTERVAL_NS,
        **times(3),
    )
    result = checked(plan)
    pausing = [
        pid
        for activity in result.all(Activity)
        for doing, pid in clients(activity)
        if doing == PAUSING
    ]
    # On a busy host one client's pause may be missed, but never all except each client's first.
    assert 2 < len(set(pausing)) <= 6
