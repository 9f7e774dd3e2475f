"""When transactions run: loops, stages, warm-up and limits, as seen in the server's rows."""

import os
from pathlib import Path

import pytest

from dbdyno.model.frame import Interval, Started
from dbdyno.model.plan import Arrivals, ClosedArrivals, Stage, Think
from tests.engine.running import MS, SECOND, plan_for, times

INSERT = "insert into log values (:client_id, pg_backend_pid(), clock_timestamp());"


@pytest.fixture
def table(local):
    with local.connect() as connection:
        connection.execute("create table log (client int, backend int, at timestamptz)")
        yield connection
        connection.execute("drop table log")


def count(table) -> int:
    return table.execute("select count(*) from log").fetchone()[0]


def test_a_constant_rate_is_kept_to_the_transaction(local, table, checked, io):
    result = checked(plan_for(local.endpoint(), INSERT, io=io, rate_tps=200, seconds=1))
    # One every 5 ms; one more would be due exactly at the end of the run.
    assert result.counters.due == 199
    assert result.counters.ok == count(table) == 199 - result.counters.waiting
    assert result.counters.ok > 0


def test_poisson_arrivals_are_the_same_on_any_thread(local, checked):
    plans = [
        plan_for(local.endpoint(), "select 1;", law="poisson", rate_tps=500, threads=threads, io=io)
        for threads, io in ((1, "epoll"), (2, "uring"))
    ]
    first, second = (checked(plan).counters for plan in plans)
    assert first.due == second.due
    assert 200 < first.due < 400


def test_clients_think_between_transactions(local, checked, io):
    think = Arrivals(closed=ClosedArrivals(think=Think(law="constant", mean_ns=100 * MS)))
    result = checked(plan_for(local.endpoint(), "select 1;", arrivals=think, io=io, seconds=1.55))
    assert 2 <= result.counters.ok <= 32


def test_stages_of_clients(local, table, checked):
    stages = [Stage(duration_ns=400 * MS, clients=1), Stage(duration_ns=400 * MS, clients=3)]
    script = "\\sleep 10 ms\n" + INSERT
    result = checked(plan_for(local.endpoint(), script, clients=3, stages=stages))
    begins = "select extract(epoch from min(at)) from log group by client order by client"
    first, *others = (float(row[0]) for row in table.execute(begins))
    second_stage = result.one(Started).unix_ns / SECOND + 0.4
    assert len(others) == 2
    assert first < min(others) >= second_stage


def test_stages_of_rates(local, checked, io):
    stages = [
        Stage(duration_ns=500 * MS, rate_tps=100.0),
        Stage(duration_ns=500 * MS, rate_tps=400.0),
    ]
    result = checked(plan_for(local.endpoint(), "select 1;", rate_tps=1, stages=stages, io=io))
    assert result.counters.due == 249
    halves = [each.counters.due for each in result.all(Interval) if each.index in (4, 9)]
    assert halves == [49, 249]


def test_so_many_transactions_for_each_client(local, table, checked, io):
    plan = plan_for(local.endpoint(), INSERT, clients=3, io=io, **times(7))
    assert checked(plan).counters.ok == 21
    assert table.execute("select distinct count(*) from log group by client").fetchall() == [(7,)]


def test_the_warm_up_is_not_counted(local, table, checked, io):
    # Long enough for transactions due in the warm-up to start, even if the host stalls meanwhile.
    plan = plan_for(local.endpoint(), INSERT, rate_tps=100, seconds=2, warmup_ns=500 * MS, io=io)
    result = checked(plan)
    warm = [each for each in result.all(Interval) if each.phase == "warmup"]
    assert len(warm) == 5
    assert {each.counters.due for each in warm} == {0}
    warmed_up = sum(each.completed_ok for each in result.all(Interval)) - result.counters.ok
    assert (warmed_up, result.counters.due) == (49, 200)
    assert count(table) == warmed_up + result.counters.ok


def test_intervals_leave_no_gap(local, checked):
    result = checked(plan_for(local.endpoint(), "select 1;", seconds=1))
    measured = [each for each in result.all(Interval) if each.phase == "measure"]
    assert [each.end_ns - each.begin_ns for each in measured] == [100 * MS] * 10
    for one, next_one in zip(result.all(Interval), result.all(Interval)[1:], strict=False):
        assert one.end_ns == next_one.begin_ns
    assert result.done.measured_ns == SECOND


def test_a_connection_for_each_transaction(local, table, checked, io):
    plan = plan_for(local.endpoint(), INSERT, reconnect_each_transaction=True, io=io, **times(10))
    result = checked(plan)
    assert result.counters.ok == 20
    assert table.execute("select count(distinct backend) from log").fetchone() == (20,)
    # Each client's first connection is made before the load begins.
    assert sum(each.connects.count for each in result.all(Interval)) == 18


def test_late_transactions_are_skipped_or_counted(local, checked, io):
    plan = plan_for(
        local.endpoint(),
        "select pg_sleep(0.1);",
        rate_tps=100,
        seconds=1.6,
        clients=1,
        threads=1,
        latency_limit_ns=50 * MS,
        io=io,
    )
    counts = checked(plan).counters
    assert counts.skipped > 0
    assert counts.late == counts.ok > 0


def test_an_open_loop_schedule_does_not_wait(local, checked):
    plan = plan_for(local.endpoint(), "select pg_sleep(0.2);", rate_tps=50, clients=1, threads=1)
    counts = checked(plan).counters
    assert counts.due == 29
    assert counts.waiting > 20


@pytest.mark.parametrize(
    ("changes", "policy"),
    [
        ({"threads": 1}, os.SCHED_BATCH),
        ({"threads": 1, "rate_tps": 100}, os.SCHED_OTHER),
        ({"threads": 2}, os.SCHED_OTHER),
    ],
    ids=["closed loop", "open loop, which is punctual", "threads with one client each"],
)
def test_only_a_thread_with_other_replies_to_wait_for_preempts_nobody(
    local, checked, changes, policy
):
    policies: set[int] = set()

    def look(engine) -> None:
        policies.update(os.sched_getscheduler(lane) for lane in lanes(engine))
        engine.stop()

    checked(plan_for(local.endpoint(), "select 1;", seconds=60, clients=2, **changes), look)
    assert policies == {policy}


def test_the_kernel_puts_no_arrival_off_to_wake_up_for_several(local, checked):
    slack_ns: set[str] = set()

    def happen(engine) -> None:
        slack_ns.update(Path(f"/proc/{lane}/timerslack_ns").read_text() for lane in lanes(engine))
        engine.stop()

    checked(plan_for(local.endpoint(), "select 1;", seconds=60, rate_tps=100), happen)
    assert slack_ns == {"1\n"}


def lanes(engine) -> list[int]:
    """Return the engine's threads that drive clients."""
    tasks = Path(f"/proc/{engine.pid}/task").iterdir()
    return [int(task.name) for task in tasks if (task / "comm").read_text().startswith("load-")]
