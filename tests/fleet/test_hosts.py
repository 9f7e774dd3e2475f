"""Four hosts that ssh reaches, each with a network of its own, and what can be wrong with one."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

import pytest

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.engine import histogram_bars, histogram_merge
from dbdyno.fleet.fleet import Fleet
from dbdyno.fleet.words import OnLost
from dbdyno.model.frame import Done, Failed, Frame, Interval, Started
from dbdyno.model.plan import Endpoint
from tests.engine.postgres import Postgres
from tests.engine.running import plan_for, times
from tests.fleet.network import Network, network
from tests.fleet.ssh import SshServer
from tests.fleet.test_fleet import INSERT, alone, kill_a_controller, of_kind, received, shared
from tests.support.patience import eventually, wait_until
from tests.support.rights import network_namespaces

pytestmark = network_namespaces


class Hosts(NamedTuple):
    """A server on this host, and four others that load it."""

    network: Network
    ssh: SshServer
    server: Postgres

    @property
    def endpoint(self) -> Endpoint:
        return self.server.endpoint(self.network.here)

    @property
    def workers(self) -> str:
        return self.ssh.workers(4)


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with contextlib.ExitStack() as undo:
        net = undo.enter_context(network(4))
        ssh = SshServer(tmp_path_factory.mktemp("ssh"), net.hosts)
        undo.callback(ssh.remove)
        server = Postgres(
            local_binaries()[0].folder,
            "local all all trust\n"
            f"host all guest {net.hosts[1].address}/32 reject\n"
            "host all all 10.0.0.0/8 trust\n",
            listen_addresses="*",
        )
        undo.callback(server.remove)
        patch = undo.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("PATH", f"{ssh.bin}:{os.environ['PATH']}")
        yield Hosts(net, ssh, server)


def test_they_do_the_transactions_of_one_and_begin_together(four, log):
    with four.server.connect() as connection:
        connection.execute("create table got (client int, r int)")
    plan = plan_for(four.endpoint, INSERT, clients=9, threads=8, seed=5, **times(30))
    alone(plan, log)
    expected = received(four.server)
    frames, running = shared(four.workers, plan, log)
    (done,) = of_kind(Done, frames)
    assert (done.end, done.counters.ok) == ("complete", 9 * 30)
    assert received(four.server) == expected
    parts = running.workers()
    assert [part.name for part in parts] == ["h1", "h2", "h3", "h4"]
    responses = [part.response for part in parts if part.response is not None]
    assert histogram_bars(done.response) == histogram_bars(histogram_merge(responses))
    for part in parts:  # one machine has one clock, and no second passes between the beginnings
        assert abs(part.clock_offset_ns) <= part.clock_bound_ns
        assert part.begun_late_ns is not None
        assert part.begun_late_ns < 1e9
    wait_until(lambda: four.server.backends() == [], "the end of the load")


def test_they_begin_within_five_milliseconds(four, log):
    """Whatever the error of their clocks; a busy host may need some attempts."""
    plan = plan_for(four.endpoint, "select 1;", clients=4, threads=4, **times(1))

    def late_ns() -> int:
        parts = shared(four.workers, plan, log)[1].workers()
        return max((part.begun_late_ns or 0) + part.clock_bound_ns for part in parts)

    eventually(late_ns, lambda late: late < 5_000_000)


def losing_one(
    four: Hosts, log: IO[str], act: Callable[[Fleet], None], on_lost: OnLost
) -> tuple[float, str]:
    """Run while something happens to the third host; return how soon it is lost, and why."""
    at_s: list[float] = []

    def during(fleet: Fleet, frame: Frame) -> None:
        if isinstance(frame, Interval) and frame.completed_ok and not at_s:
            at_s.append(time.monotonic())
            act(fleet)

    seconds = 60 if on_lost == "stop" else 6
    changes = {"clients": 4, "threads": 4, "seconds": seconds, "interval_ns": 200_000_000}
    plan = plan_for(four.endpoint, "select 1;", **changes)
    frames, running = shared(four.workers, plan, log, during, on_lost)
    (started,), (done,) = of_kind(Started, frames), of_kind(Done, frames)
    lost = running.workers()[2]
    assert lost.lost_at_s is not None
    if on_lost == "continue":
        assert done.end == "complete"
        assert [part.name for part in running.workers() if part.lost_at_s is not None] == ["h3"]
    else:
        assert (done.end, done.reason) == ("aborted", f"worker h3 was lost: {lost.why_lost}")
    return started.monotonic_ns / 1e9 + lost.lost_at_s - at_s[0], lost.why_lost


def test_one_whose_network_is_gone_is_lost_and_ends_its_load(four, log):
    """Its sessions stay on the server until it is back: nothing tells the server before."""
    host = four.network.hosts[2]
    try:
        lost_after_s, why = losing_one(four, log, lambda _: host.cut(), "continue")
    finally:
        host.mend()
    assert why == "nothing was heard of it"
    assert lost_after_s < 5  # of a busy host; nothing else tells so soon that a cable is out
    wait_until(lambda: four.server.backends() == [], "the end of what it had begun")


def test_one_that_is_cut_off_from_us_alone_ends_its_load(four, log):
    """It could load the server for ever: what joins it with us is stopped, and never ends."""
    stopped: list[int] = []

    def stop(_fleet: Fleet) -> None:
        stopped.extend(four.ssh.sessions(2))
        signal_all(stopped, signal.SIGSTOP)

    try:
        _, why = losing_one(four, log, stop, "stop")
        wait_until(lambda: four.server.backends() == [], "the end of its load")
    finally:
        signal_all(stopped, signal.SIGCONT)
    assert why == "nothing was heard of it"
    wait_until(lambda: four.ssh.sessions() == [], "the end of the sessions")


@pytest.mark.parametrize("what", ["agent", "session"])
def test_what_is_killed_loses_its_host(four, log, what):
    """An agent, or the ssh server's end of the connection to it."""

    def kill(fleet: Fleet) -> None:
        greeting = fleet.agents[2].greeting
        assert greeting is not None
        processes = [greeting.pid] if what == "agent" else four.ssh.sessions(2)
        assert processes
        signal_all(processes, signal.SIGKILL)

    _, why = losing_one(four, log, kill, "stop")
    assert why == "its stream ended"
    wait_until(lambda: four.server.backends() == [], "the end of the load on all hosts")


def signal_all(processes: list[int], number: signal.Signals) -> None:
    """Signal processes of which some may end at any time, and others with them."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def test_nothing_outlives_a_killed_controller(four):
    kill_a_controller(four.server, four.workers, clients=8, threads=4, host=four.network.here)
    wait_until(lambda: four.ssh.sessions() == [], "the end of the sessions")


def refused(four: Hosts, endpoint: Endpoint, log) -> Failed:
    plan = plan_for(endpoint, "select 1;", clients=4, threads=4)
    frames, _ = shared(four.workers, plan, log)
    assert of_kind(Interval, frames) == []
    (failed,) = of_kind(Failed, frames)
    wait_until(lambda: four.server.backends() == [], "the end of the others")
    return failed


def test_one_without_a_way_to_the_server_is_named(four, log):
    """Ssh reaches it by another address than it would reach the server."""
    with four.network.hosts[3].without_a_way_to(four.network.here_too):
        failed = refused(four, four.server.endpoint(four.network.here_too), log)
    assert failed.message.startswith("worker h4: ")
    assert "unreachable" in failed.message or "No route to host" in failed.message


def test_one_that_the_server_refuses_is_named(four, log):
    with four.server.connect() as connection:
        connection.execute("create role guest login")
    failed = refused(four, four.server.endpoint(four.network.here, user="guest"), log)
    assert failed.message.startswith("worker h2: ")
    assert 'pg_hba.conf rejects connection for host "' + four.network.hosts[1].address in (
        failed.message
    )
