"""Agents on hosts that ssh reaches: a real server, and nothing but the user's configuration."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from dbdyno.errors import DbdynoError
from dbdyno.fleet.examining import examined
from dbdyno.fleet.words import worker_list
from dbdyno.model.frame import Done, Started
from tests.engine.running import plan_for, times
from tests.fleet.ssh import SshServer
from tests.fleet.test_fleet import begun, of_kind, shared
from tests.support.patience import wait_until


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    server = SshServer(tmp_path_factory.mktemp("ssh"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{server.bin}:{os.environ['PATH']}")
        yield server
    server.remove()


def test_hosts_share_a_load(hosts, local, log):
    plan = plan_for(local.endpoint(), "select 1;", clients=4, threads=4, **times(50))
    frames, running = shared(hosts.workers(2), plan, log)
    (done,) = of_kind(Done, frames)
    assert (done.end, done.counters.ok) == ("complete", 200)
    parts = running.workers()
    assert [(part.name, len(part.clients), part.lost_at_s) for part in parts] == [
        ("h1", 2, None),
        ("h2", 2, None),
    ]
    wait_until(lambda: hosts.sessions() == [], "the end of the sessions")


@contextlib.contextmanager
def loaded(hosts: SshServer, local, log, **changes) -> Iterator[list]:
    """Two hosts are at it; yields the fleet, and what it reports afterwards."""
    plan = plan_for(
        msgspec.structs.replace(local.endpoint(), password="a-very-secret-word"),
        "select 1;",
        **{"clients": 2, "threads": 2, "seconds": 60, **changes},
    )
    with begun(hosts.workers(2)) as fleet:
        running = fleet.start(fleet.shared(plan, 2), log)
        frames = iter(running)
        for _, frame in frames:
            if isinstance(frame, Started):
                break
        yield [fleet, frames]


def test_a_killed_connection_loses_its_host(hosts, local, log):
    with loaded(hosts, local, log) as (fleet, frames):
        fleet.agents[0].kill()
        (done,) = of_kind(Done, [frame for _, frame in frames])
    assert (done.end, done.reason.startswith("worker h1 was lost")) == ("aborted", True)
    wait_until(lambda: local.backends() == [], "the end of the load on both hosts")


def test_credentials_are_on_no_command_line_and_in_no_environment(hosts, local, log):
    """The server trusts this user: the password is not asked for, but it is in the job."""
    with loaded(hosts, local, log):
        seen = 0
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                seen += 1
                assert b"a-very-secret-word" not in (process / "cmdline").read_bytes()
                assert b"a-very-secret-word" not in (process / "environ").read_bytes()
        assert seen > 4
    wait_until(lambda: local.backends() == [], "the end of the load")


def test_a_host_that_falls_silent_is_lost(hosts, local, log):
    with loaded(hosts, local, log) as (fleet, frames):
        greeting = fleet.agents[1].greeting
        assert greeting is not None
        os.kill(greeting.pid, signal.SIGSTOP)
        try:
            (done,) = of_kind(Done, [frame for _, frame in frames])
        finally:
            os.kill(greeting.pid, signal.SIGCONT)
    assert done.reason == "worker h2 was lost: nothing was heard of it"
    wait_until(lambda: local.backends() == [], "the end of the load on both hosts")


def test_what_ssh_says_of_a_host_is_told(hosts):
    with (
        pytest.raises(DbdynoError, match=r"worker nowhere\.invalid is no agent") as refused,
        begun(f"{hosts.workers(1)},ssh:nowhere.invalid"),
    ):
        pass
    assert "nowhere.invalid" in refused.value.message.partition("it printed")[2]


def test_each_host_is_examined(hosts):
    found = examined(worker_list(f"{hosts.workers(1)},ssh:h2/no/dbdyno").places())
    assert [its.name for its in found] == ["h1", "h2"]
    assert (found[0].problem, found[0].cpus > 0, found[0].open_files_max > 0) == ("", True, True)
    assert found[0].clock_bound_us is not None
    assert "/no/dbdyno" in found[1].problem
