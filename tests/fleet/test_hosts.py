"""Four hosts that ssh reaches, each with a network of its own, and what can be wrong with one."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import pytest

from dbdyno.analysis.workers import host_effects, worker_records
from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.fleet.fleet import Fleet
from dbdyno.model.frame import Done, Failed, Frame, Interval
from dbdyno.model.plan import Endpoint, Plan
from tests.analysis.test_workers import run_of
from tests.engine.postgres import Postgres
from tests.engine.running import MS, plan_for, times
from tests.fleet.hosts import Hosts, assert_as_of_one, losing_one
from tests.fleet.network import Host, Network, network
from tests.fleet.ssh import SshServer
from tests.fleet.test_fleet import kill_a_controller, of_kind, shared
from tests.support.patience import eventually, wait_until
from tests.support.rights import network_namespaces

pytestmark = network_namespaces


class SshHosts(Hosts):
    """Those that ssh reaches."""

    def __init__(self, network: Network, ssh: SshServer, server: Postgres) -> None:
        super().__init__(network, server, ssh.workers(4))
        self.ssh = ssh


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHosts]:
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
        yield SshHosts(net, ssh, server)


def test_they_do_the_transactions_of_one_and_begin_together(four, log):
    parts = assert_as_of_one(four, log)
    assert [part.name for part in parts] == ["h1", "h2", "h3", "h4"]


def test_they_begin_within_five_milliseconds(four, log):
    """Whatever the error of their clocks; a busy host may need some attempts."""
    plan = plan_for(four.endpoint, "select 1;", clients=4, threads=4, **times(1))

    def late_ns() -> int:
        parts = shared(four.workers, plan, log)[1].workers()
        return max((part.begun_late_ns or 0) + part.clock_bound_ns for part in parts)

    eventually(late_ns, lambda late: late < 5_000_000)


@pytest.mark.parametrize(
    ("cut", "mend"),
    [(Host.cut, Host.mend), (Host.wall_off, Host.open_up)],
    ids=["link", "firewall"],
)
def test_one_whose_network_is_gone_is_lost_and_ends_its_load(four, log, cut, mend):
    """Its sessions stay on the server until it is back: nothing tells the server before."""
    host = four.network.hosts[2]
    try:
        lost_after_s, why = losing_one(four, log, lambda _: cut(host), "continue")
    finally:
        mend(host)
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
    assert why.startswith("its process ended with exit code 255"), why
    wait_until(lambda: four.server.backends() == [], "the end of the load on all hosts")


def test_one_with_a_long_way_to_the_server_is_a_doubt(four, log):
    """Its transactions take longer than those of all others."""
    far, way = four.network.hosts[2], four.network.here_too
    endpoint = four.server.endpoint(way)
    plan = plan_for(endpoint, "select 1;", clients=64, threads=4, **times(100))

    def effects() -> list[str]:
        parts = shared(four.workers, plan, log)[1].workers()
        return list(host_effects(plan, parts, worker_records(run_of(), parts)))

    with far.with_a_long_way_to(way, endpoint.address.tcp.port, four.network.here):
        eventually(effects, lambda found: len(found) == 1 and " of h3 was " in found[0])


def large_frames(endpoint: Endpoint, seconds: float, pause: str = "") -> Plan:
    """A load of which much is to be told: a frame has the message of each code that failed."""
    fails = (
        "do $$ begin raise exception using message = repeat('x', 2000), "
        "errcode = 'X0' || lpad(floor(random() * 200)::text, 3, '0'); end $$;"
    )
    texts = [f"{statement}\n{pause}" for statement in ("select 1;", fails)]
    return plan_for(endpoint, *texts, seconds=seconds, interval_ns=50 * MS)


def test_a_slow_link_slows_no_load_and_loses_nothing(four, log):
    """How much there is to tell is for the host to decide: a busy one needs a slower link."""
    rates = ("2mbit", "1mbit", "512kbit", "256kbit")  # a fast host needs three times the first
    assert any(behind_a_slow_link(four, log, rate) > 1e9 for rate in rates), (
        "frames were much later than what they tell"
    )


def behind_a_slow_link(four, log, rate: str) -> int:
    """Run with one of two hosts behind it; return how late the latest frame came, in ns."""
    late_ns: list[int] = []

    def note_how_late(_fleet: Fleet, frame: Frame) -> None:
        if isinstance(frame, Interval):
            late_ns.append(time.monotonic_ns() - frame.end_ns)

    plan = large_frames(four.endpoint, 3, "\\sleep 1 ms")
    workers = f"ssh:h1{four.ssh.dbdyno},ssh:h3{four.ssh.dbdyno}"
    with four.network.hosts[2].slow_from(four.ssh.port, rate):
        frames, running = shared(workers, plan, log, note_how_late)
    (done,) = of_kind(Done, frames)
    assert done.end == "complete"
    fast, slow = running.workers()
    assert slow.lost_at_s is None
    assert slow.transactions > fast.transactions / 2
    assert slow.transactions + fast.transactions == done.counters.ok
    intervals = of_kind(Interval, frames)
    assert sum(interval.completed_ok for interval in intervals) == done.counters.ok
    for interval in intervals[:-1]:
        assert len(interval.workers) == 2
    return max(late_ns)


def test_what_finds_no_room_behind_a_slow_link_ends_its_part_with_the_reason(four, log, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    mounted = f"mount -t tmpfs -o size=256k full {full}"
    agent = tmp_path / "agent"
    agent.write_text(
        f"#!/bin/sh\nexec unshare --mount sh -c '"
        f'{mounted} && TMPDIR={full} exec {four.ssh.dbdyno} "$0"\' "$@"\n'
    )
    agent.chmod(0o755)
    plan = large_frames(four.endpoint, 16)
    workers = f"ssh:h1{four.ssh.dbdyno},ssh:h3{agent}"
    with four.network.hosts[2].slow_from(four.ssh.port, "6mbit"):  # an eighth of what they need
        frames, running = shared(workers, plan, log, on_lost="continue")
    (done,) = of_kind(Done, frames)
    assert done.end == "complete"
    others, its = running.workers()
    assert others.lost_at_s is None
    assert its.lost_at_s is not None
    why = f"what waits for a slow link cannot be kept in {full}: No space left on device"
    assert why in its.why_lost


def signal_all(processes: list[int], number: signal.Signals) -> None:
    """Signal processes of which some may end at any time, and others with them."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def test_nothing_outlives_a_killed_controller(four):
    kill_a_controller(four.server, four.workers, clients=8, threads=4, host=four.network.here)
    wait_until(lambda: four.ssh.sessions() == [], "the end of the sessions")


def refused(four: SshHosts, endpoint: Endpoint, log) -> Failed:
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
