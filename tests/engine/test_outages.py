"""Servers that crash, come back or fall silent during a run; tests for both kinds come first."""

import time

import pytest

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.engine import EngineProcess
from dbdyno.model.frame import Interval, Outage, OutageBegun
from tests.engine.happenings import AGAIN_S, dies_and_comes_back
from tests.engine.mariadb import MariaDB
from tests.engine.postgres import Postgres
from tests.engine.running import SECOND, plan_for, times
from tests.support.patience import eventually, wait_until

MAKE = {
    "postgresql": lambda: Postgres(local_binaries()[0].folder, max_connections="700"),
    "mariadb": MariaDB,
}


@pytest.fixture(scope="module", params=MAKE)
def server(request):
    server = MAKE[request.param]()
    yield server
    server.remove()


@pytest.fixture
def mortal(server):
    """A server that may be killed or frozen."""
    yield server
    server.recover()


on_postgresql = pytest.mark.parametrize("server", ["postgresql"], indirect=True)


RATE_TPS = 100


def due_meanwhile(outages) -> float:
    """Return how many transactions became due in the shortest of these outages."""
    return RATE_TPS * min(outage.end_ns - outage.begin_ns for outage in outages) / SECOND


def test_killed_and_restarted(mortal, checked, io):
    plan = plan_for(mortal.endpoint(), "select 1;", rate_tps=RATE_TPS, clients=4, seconds=60, io=io)
    result = checked(plan, dies_and_comes_back(mortal, sessions=4))
    outages = result.all(Outage)
    assert sum(outage.connections_lost for outage in outages) == 4
    for outage in outages:
        assert outage.end_ns - outage.begin_ns > 0.3 * SECOND
    # Reported when it began, not when it was over.
    begun = [begun.at_ns for begun in result.all(OutageBegun)]
    assert sorted(begun) == sorted(outage.begin_ns for outage in outages)
    frames = [type(frame) for frame in result.frames]
    assert Interval in frames[frames.index(OutageBegun) : frames.index(Outage)]
    assert result.done.end == "interrupted"  # by us, after all clients were back
    assert {each.failure_class for each in result.done.failures} <= {"connection"}
    # Arrivals during the outage waited for its end: four clients lose one each, and may have one at
    # the end.
    counts = result.counters
    assert counts.due - counts.waiting - counts.ok <= 8
    assert counts.waiting < due_meanwhile(outages)


def test_killed_and_restarted_where_each_transaction_connects(mortal, checked, io):
    """A client notices the outage when it needs a connection, even if it has none to lose."""

    plan = plan_for(
        mortal.endpoint(),
        "select 1;",
        rate_tps=RATE_TPS,
        clients=4,
        seconds=60,
        reconnect_each_transaction=True,
        io=io,
    )
    result = checked(plan, dies_and_comes_back(mortal, sessions=None))
    assert result.done.end == "interrupted"
    outages = [each for each in result.all(Outage) if each.end_ns - each.begin_ns > 0.3 * SECOND]
    assert len(outages) == 2  # one for each thread
    assert all(1 <= outage.connections_lost <= 2 for outage in outages)
    # Its end is noticed and work continues; how fast depends on the host.
    over_ns = max(outage.end_ns for outage in outages)
    assert sum(each.completed_ok for each in result.all(Interval) if each.begin_ns > over_ns) > 0


@on_postgresql
def test_killed_for_good_where_each_transaction_connects(mortal, checked, io):
    """The reason for the end states this, and not only the failures."""

    def kill(_) -> None:
        time.sleep(0.3)
        mortal.kill()

    plan = plan_for(
        mortal.endpoint(), "select 1;", seconds=3, reconnect_each_transaction=True, io=io
    )
    result = checked(plan, kill)
    reason = "the server closed its connections and accepted no new ones"
    assert (result.done.end, result.done.reason) == ("stalled", reason)
    assert [outage.end_ns for outage in result.all(Outage)][-1] is None


def test_a_server_without_room_is_no_outage(local, checked, io):
    """If each transaction connects, none can for a while; but the server is there."""

    def limit(connections: int) -> None:
        with local.connect() as connection:
            connection.execute(f"alter role few connection limit {connections}")

    def refusals() -> int:
        return (local.folder / "log.txt").read_text().count("too many connections for role")

    def close_and_open(engine: EngineProcess) -> None:
        before = refusals()
        limit(0)
        wait_until(lambda: refusals() >= before + 4, "the clients are refused")
        limit(-1)
        engine.stop()

    endpoint = local.endpoint(user="few")
    plan = plan_for(endpoint, "select 1;", seconds=60, reconnect_each_transaction=True, io=io)
    with local.connect() as connection:
        connection.execute("create role few login")
        try:
            result = checked(plan, close_and_open)
        finally:
            connection.execute("drop role few")
    assert set(result.codes) == {"53300"}
    assert result.all(Outage) == []


@on_postgresql
def test_killed_for_good(mortal, checked, io):
    def kill(_) -> None:
        time.sleep(0.3)
        mortal.kill()

    plan = plan_for(
        mortal.endpoint(), "select 1;", seconds=60, stall_limit_ns=3 * SECOND, clients=200, io=io
    )
    result = checked(plan, kill)
    assert result.done.end == "stalled"
    assert result.done.reason.startswith("the server stopped answering; new connections failed: ")
    assert sum(outage.connections_lost for outage in result.all(Outage)) == 200
    assert all(outage.end_ns is None for outage in result.all(Outage))


def test_silent_in_the_middle(mortal, checked, io):
    def freeze(_) -> None:
        time.sleep(0.3)
        mortal.freeze()

    plan = plan_for(mortal.endpoint(), "select 1;", seconds=60, stall_limit_ns=SECOND, io=io)
    result = checked(plan, freeze)
    assert (result.done.end, result.done.reason) == ("stalled", "the server stopped answering")
    assert result.counters.unfinished == 2
    assert result.done.measured_ns < 30 * SECOND


def test_silent_at_the_end(mortal, checked):
    """The drain waits, cancels, waits, and gives up: nothing reacts to the cancellation."""
    plan = plan_for(mortal.endpoint(), "select 1;", seconds=1.5)
    result = checked(plan, lambda _: mortal.freeze())
    assert (result.done.end, result.done.reason) == (
        "stalled",
        "the server did not answer a cancellation",
    )
    assert result.counters.unfinished == 2
    assert min(result.done.unfinished_ages_ns) > SECOND


def test_one_backend_is_terminated(local, checked, io):
    asleep = """select pid from pg_stat_activity
        where application_name = 'load' and wait_event = 'PgSleep'"""

    def terminate(_) -> None:
        (victim,), _other = eventually(lambda: local.execute(asleep), lambda pids: len(pids) == 2)
        local.execute(f"select pg_terminate_backend({victim})")

    plan = plan_for(local.endpoint(), "select pg_sleep(1);", io=io, **times(2))
    result = checked(plan, terminate)
    (failure,) = result.done.failures
    assert (failure.failure_class, failure.code, failure.count) == ("connection", "57P01", 1)
    assert failure.message == "terminating connection due to administrator command"
    assert failure.statement == 0
    (outage,) = result.all(Outage)
    assert outage.connections_lost == 1
    assert outage.end_ns is not None
    assert result.counters.ok == 3


def test_the_last_message_of_a_closed_connection_is_reported(local, checked, io):
    """Also those of a server that disconnected just when a statement was sent."""

    def terminate(engine: EngineProcess) -> None:
        with local.connect() as connection:
            for _ in range(20):
                time.sleep(0.04)
                connection.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where application_name = 'load'"
                )
        engine.stop()

    plan = plan_for(local.endpoint(), "select 1;", clients=10, seconds=60, io=io)
    result = checked(plan, terminate)
    assert set(result.codes) == {"57P01"}


def test_an_idle_backend_is_terminated(local, checked, io):
    def terminate(engine: EngineProcess) -> None:
        lost = local.backends()
        for backend in lost:
            local.execute(f"select pg_terminate_backend({backend})")
        wait_until(lambda: len({*local.backends()} - {*lost}) == 2, "the clients are back")
        time.sleep(AGAIN_S)  # the server lists them before it has accepted their logins
        engine.stop()

    plan = plan_for(local.endpoint(), "select 1;", rate_tps=1, seconds=60, io=io)
    result = checked(plan, terminate)
    assert sum(outage.connections_lost for outage in result.all(Outage)) == 2
    assert all(outage.end_ns is not None for outage in result.all(Outage))
    assert {each.failure_class for each in result.done.failures} <= {"connection"}


def test_a_long_answer_is_no_stall(local, checked, io):
    # A stall of the host for a second is not the server's stall either.
    rows = "select pg_sleep(0.05), repeat('x', 9000) from generate_series(1, 50);"
    plan = plan_for(local.endpoint(), rows, stall_limit_ns=2 * SECOND, io=io, **times(1))
    assert checked(plan).counters.ok == 2


def test_one_long_wait_is_no_stall(local, checked):
    """A client with a thread of its own waits beyond the limit, while the other gets answers."""
    script = "\\if :client_id = 0\nselect pg_sleep(2.8);\n\\else\nselect 1;\n\\endif"
    plan = plan_for(local.endpoint(), script, seconds=2.6, stall_limit_ns=2 * SECOND)
    result = checked(plan)
    assert result.done.end == "complete"
