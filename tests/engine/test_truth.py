"""What is measured is what happened: a stall is visible, and the same seed makes the same work."""

import os
import signal
import time

import pytest

from dbdyno.engine import histogram_quantiles
from dbdyno.model.frame import Hello, Interval
from dbdyno.model.plan import Stage
from tests.engine.running import plan_for, times
from tests.support.patience import wait_until

DRAW = """\\set a random(1, 1000000000)
\\set z random_zipfian(1, 1000, 1.2)
insert into drawn (script, client, a, z) values ({script}, :client_id, :a, :z);
"""
SCRIPTS = [DRAW.format(script=script) for script in (0, 1)]
WAYS = [(1, "epoll"), (2, "uring"), (3, "epoll"), (3, "uring")]


def test_a_stall_of_a_second_is_in_the_response_times(local, checked, io):
    at_ns: list[int] = []

    def stall(_) -> None:
        time.sleep(0.5)
        wait_until(is_calm, "the machine itself does not stall")
        for deed in (local.freeze, lambda: time.sleep(1), local.thaw):
            at_ns.append(time.monotonic_ns())
            deed()
        at_ns.append(time.monotonic_ns())

    plan = plan_for(local.endpoint(), "select 1;", rate_tps=200, clients=4, seconds=3, io=io)
    result = checked(plan, stall)
    assert result.counters.due == 599
    assert result.counters.ok == 599 - result.counters.waiting
    # A third of the arrivals waited, evenly, for up to a second: the 99th percentile is 0.97 s.
    (response_p99,) = histogram_quantiles(result.done.response, [0.99])
    (service_p50,) = histogram_quantiles(result.done.service, [0.5])
    # Freezing and thawing all of its processes takes a while on a busy host, and the engine itself
    # may have to wait for a processor.
    freezes_ns, frozen_ns, thaws_ns, thawed_ns = at_ns
    longest_ns = 1.3 * (thawed_ns - freezes_ns) + 1000 * paused_us(result)
    assert 0.85 * (thaws_ns - frozen_ns) < response_p99 < longest_ns
    assert service_p50 < 0.25 * (thaws_ns - frozen_ns)


def is_calm() -> bool:
    """Whether a sleep lasts as long as it should: the backlog of any earlier stall is then gone.

    Otherwise arrivals that had already waited would additionally wait for the frozen server.
    """
    began = time.monotonic()
    time.sleep(0.2)
    return time.monotonic() - began < 0.3


def test_a_pause_of_the_engine_itself_is_reported(local, checked, io):
    stopped_ns: list[int] = []

    def pause(engine) -> None:
        time.sleep(0.5)
        for deed in (signal.SIGSTOP, signal.SIGCONT):
            os.kill(engine.pid, deed)
            stopped_ns.append(time.monotonic_ns())
            time.sleep(0.5)

    result = checked(plan_for(local.endpoint(), "select 1;", seconds=2, io=io), pause)
    begin_ns, end_ns = stopped_ns
    assert 0.9 * (end_ns - begin_ns) < 1000 * paused_us(result) < 2e9


def paused_us(result) -> int:
    return sum(each.engine.paused_us for each in result.all(Interval))


@pytest.fixture
def table(local):
    with local.connect() as connection:
        connection.execute(
            "create table drawn (id serial, script int, client int, a bigint, z int)"
        )
        yield connection
        connection.execute("drop table drawn")


def drawn(table, order: str) -> list[tuple]:
    rows = table.execute(f"select client, script, a, z from drawn order by {order}").fetchall()
    table.execute("truncate drawn")
    return rows


def test_the_same_seed_gives_each_client_the_same_work(local, table, checked):
    seen = []
    for threads, io in WAYS:
        plan = plan_for(local.endpoint(), *SCRIPTS, clients=3, threads=threads, io=io, **times(25))
        checked(plan)
        seen.append(drawn(table, "client, id"))
    assert len(seen[0]) == 75
    assert {row[1] for row in seen[0]} == {0, 1}
    assert seen == [seen[0]] * len(WAYS)

    checked(plan_for(local.endpoint(), *SCRIPTS, clients=3, seed=2, **times(25)))
    assert drawn(table, "client, id") != seen[0]


def test_the_same_seed_gives_the_same_arrivals(local, table, checked):
    # The run ends after this number of arrivals, not by a clock: all of them start.
    arriving = {
        "stages": [Stage(duration_ns=None, rate_tps=200.0)],
        "transactions_per_client": 25,
    }
    seen = []
    for threads, io in WAYS:
        plan = plan_for(
            local.endpoint(),
            *SCRIPTS,
            clients=3,
            threads=threads,
            io=io,
            rate_tps=1,
            law="poisson",
            **arriving,
        )
        checked(plan)
        seen.append([row[1:] for row in drawn(table, "a, z")])
    assert len(seen[0]) == 75
    assert seen == [seen[0]] * len(WAYS)


def test_threads_that_share_a_processor_have_no_more_than_that_one(local, checked):
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        result = checked(plan_for(local.endpoint(), "select 1;", **times(1)))
    finally:
        os.sched_setaffinity(0, allowed)
    hello = result.one(Hello)
    assert (hello.threads, hello.processors) == (2, 1)
