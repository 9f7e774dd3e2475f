"""Agents on the nodes of a Ray cluster: a real one, whose nodes are lost as nodes are."""

import asyncio
import contextlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from dbdyno.engine import histogram_bars, histogram_merge
from dbdyno.errors import DbdynoError
from dbdyno.fleet import ray_cluster, ray_driver, ray_node
from dbdyno.fleet.examining import examined
from dbdyno.fleet.fleet import Fleet
from dbdyno.fleet.ray_cluster import kept_nodes
from dbdyno.fleet.words import worker_list
from dbdyno.model.frame import Done, Frame, Interval, Note
from tests.engine.postgres import free_port
from tests.engine.running import plan_for, times
from tests.fleet.ray import RayCluster
from tests.fleet.test_fleet import (
    INSERT,
    ROOT,
    alone,
    begun,
    kill_a_controller,
    of_kind,
    received,
    shared,
    table,
)
from tests.support.patience import wait_until
from tests.support.rights import network_namespaces

__all__ = ["table"]  # a fixture

MANY = bytes(20 * 2**20)
SECRET = "a-very-secret-word"


@contextlib.contextmanager
def known(cluster: RayCluster) -> Iterator[RayCluster]:
    """The cluster is the one that ``ray:`` finds, with its token."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cluster.environment.items():
            patch.setenv(name, value)
        try:
            yield cluster
        finally:
            cluster.remove()


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with known(RayCluster(2)) as cluster:
        yield cluster


def free(cluster: RayCluster) -> bool:
    """Whether nothing of a load is left on the nodes: neither agents nor their actors."""
    return not processes_with(cluster, "dbdyno/agent.py") and not actors(cluster)


class _Hasty:
    """A node that is done with an agent while its last bytes are still on their way."""

    def __init__(self, *keys: bytes) -> None:
        self.run = self
        self._keys = keys

    async def remote(self, host: str, port: int, certificate: str) -> None:
        context = ssl.create_default_context(cadata=certificate)
        context.check_hostname = False
        for key in self._keys:
            _, writer = await asyncio.open_connection(host, port, ssl=context)
            writer.write(key)
            writer.write(MANY)
            writer.close()


def test_the_last_bytes_of_an_agent_on_a_slow_link_arrive():
    keys = [os.urandom(ray_node.KEY_BYTES) for _ in range(2)]
    stream, other = socket.socketpair()
    printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
    end = ray_driver._Ends(other.detach(), os.dup(printed.fileno()))
    found: list[bytes] = []

    def read() -> None:
        while piece := stream.recv(2**16):
            time.sleep(0.005)
            found.append(piece)

    with stream, printed:
        reader = threading.Thread(target=read)
        reader.start()
        prints = [ray_node.fingerprint(key) for key in keys]
        assert asyncio.run(ray_driver.are_joined("127.0.0.1", [_Hasty(*keys)], [end], [prints]))
        reader.join()
        assert os.fstat(printed.fileno()).st_size == len(MANY)
    assert b"".join(found) == MANY


def actors(cluster: RayCluster) -> set[int]:
    """The processes that Ray has for dbdyno."""
    return processes_with(cluster, "ray::Node")


def processes_with(cluster: RayCluster, word: str) -> set[int]:
    """The processes of a cluster that have a word in their command."""
    numbers = range(len(cluster.processes))
    processes = {process for number in numbers for process in cluster.processes_of(number)}
    return {process for process in processes if word in command_of(process)}


def command_of(process: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    return ""


def test_nodes_do_the_transactions_of_one_host(cluster, table, log):
    plan = plan_for(table.endpoint(), INSERT, clients=7, threads=4, seed=5, **times(20))
    alone(plan, log)
    expected = received(table)
    frames, running = shared("ray:*2,local", plan, log)
    (done,) = of_kind(Done, frames)
    assert (done.end, done.counters.ok) == ("complete", 7 * 20)
    assert received(table) == expected
    parts = running.workers()
    assert [part.name for part in parts] == ["ray-1", "ray-2", "local-3"]
    responses = [part.response for part in parts if part.response is not None]
    assert histogram_bars(done.response) == histogram_bars(histogram_merge(responses))
    wait_until(lambda: free(cluster), "the end of the agents")


def test_nodes_run_what_they_were_sent(cluster):
    """They have an installation, too, as a node may that has an older one."""
    with begun("ray:*2"):
        commands = [command_of(agent) for agent in processes_with(cluster, "dbdyno/agent.py")]
        assert len(commands) == 2
        assert all("py_modules_files" in command for command in commands), commands


def test_nodes_are_reached_from_outside_the_cluster(cluster):
    """By Ray's client, as it is used from a host that is no node; and by a resource."""
    found = examined(worker_list(f"ray://{cluster.client}/load*2").places())
    assert [(its.name, its.problem, its.cpus > 0) for its in found] == [
        ("ray-1", "", True),
        ("ray-2", "", True),
    ]


def test_runs_that_belong_together_have_the_same_nodes(cluster, local, log):
    """Others only once something is wrong with one of these, or other ones are asked for."""
    plan = plan_for(local.endpoint(), "select 1;", clients=2, threads=2, **times(2))

    def used(workers: str) -> set[int]:
        """Run; return the actors that are there afterwards."""
        (done,) = of_kind(Done, shared(workers, plan, log)[0])
        assert (done.end, done.counters.ok) == ("complete", 4)
        return actors(cluster)

    with kept_nodes():
        first = used("ray:*2")
        assert len(first) == 2
        assert used("ray:*2") == first
        os.kill(first.pop(), signal.SIGKILL)
        second = used("ray:*2")
        assert len(second - first) == 2
        assert not used("ray:") & second
    wait_until(lambda: free(cluster), "the end of the actors")


def test_credentials_pass_ray_by(cluster, local, log):
    """The agent has them, and neither the daemons nor the files of Ray do."""
    endpoint = msgspec.structs.replace(local.endpoint(), password=SECRET)
    plan = plan_for(endpoint, "select 1;", clients=2, threads=2, seconds=60)
    found: dict[str, bool] = {}

    def look(fleet: Fleet, frame: Frame) -> None:
        if isinstance(frame, Interval) and frame.completed_ok and not found:
            for number in range(len(cluster.processes)):
                for process in cluster.processes_of(number):
                    with contextlib.suppress(FileNotFoundError):  # others come and go
                        name = name_of(process)
                        name = "agent" if "dbdyno/agent.py" in command_of(process) else name
                        if name in ("gcs_server", "raylet", "agent"):
                            found[name] = found.get(name, False) or is_in_memory(process)
            fleet.agents[0].kill()

    shared("ray:*2", plan, log, look)
    assert found == {"gcs_server": False, "raylet": False, "agent": True}
    written: dict[str, bytes] = {}
    for path in cluster.folder.rglob("*"):
        with contextlib.suppress(OSError):  # sockets, and what was there for a moment
            written[path.name] = path.read_bytes()
    assert any(name.startswith("worker-") for name in written)
    assert [name for name, content in written.items() if SECRET.encode() in content] == []


def name_of(process: int) -> str:
    return Path(f"/proc/{process}/comm").read_text().strip()


def is_in_memory(process: int) -> bool:
    """Whether the secret is in the memory of a process: Ray's objects are in the raylet's."""
    folder = Path(f"/proc/{process}")
    with (folder / "mem").open("rb", buffering=0) as memory:
        for line in (folder / "maps").read_text().splitlines():
            words = line.split()
            begin, end = (int(word, 16) for word in words[0].split("-"))
            if words[1].startswith("rw"):
                memory.seek(begin)
                if SECRET.encode() in memory.read(end - begin):
                    return True
    return False


def test_nothing_outlives_a_killed_controller(cluster, local):
    kill_a_controller(local, "ray:*2", clients=4, threads=2)
    wait_until(lambda: free(cluster), "the end of the agents")


def test_a_cluster_without_enough_nodes_is_refused(cluster):
    problems = {found.problem for found in examined(worker_list("ray:load*4").places())}
    assert problems == {
        "of the 3 nodes of Ray's cluster, 2 with CPUs and the resource 'load' are there for 4 "
        "workers"
    }


def test_lost_nodes_are_lost_workers(local, log):
    """The raylet of a node is killed, then all processes of the others."""
    plan = plan_for(
        local.endpoint(), "select 1;", clients=2, threads=2, seconds=60, interval_ns=200_000_000
    )
    with known(RayCluster(2)) as cluster:
        alive = [2, 1, 0]

        def kill(fleet: Fleet, frame: Frame) -> None:
            if isinstance(frame, Interval) and frame.completed_ok and len(alive) == 3:
                kill_raylet(cluster, alive.pop(0))
            elif isinstance(frame, Note) and "was lost after" in frame.text:
                while alive:
                    cluster.kill(alive.pop(0))

        frames, running = shared("ray:*2", plan, log, kill, "continue")
    (done,) = of_kind(Done, frames)
    assert (done.end, done.reason) == ("aborted", "all workers were lost")
    first, second = sorted(part.lost_at_s for part in running.workers())
    assert first < second
    whys = {part.why_lost.partition(";")[0] for part in running.workers()}
    assert whys == {"its node is gone, or Ray has ended it there"}
    wait_until(lambda: local.backends() == [], "the end of the load")


def kill_raylet(cluster: RayCluster, number: int) -> None:
    """Kill the raylet of a node alone: Ray ends what it has started there."""
    (raylet,) = (its for its in cluster.processes_of(number) if name_of(its) == "raylet")
    os.kill(raylet, signal.SIGKILL)


def test_a_killed_raylet_ends_the_run(cluster, local, log):
    """The cluster has one node fewer then: this is the last test that uses it."""
    killed: list[bool] = []

    def kill(_fleet: Fleet, frame: Frame) -> None:
        if isinstance(frame, Interval) and frame.completed_ok and not killed:
            killed.append(True)
            kill_raylet(cluster, 2)

    changes = {"clients": 2, "threads": 2, "seconds": 60, "interval_ns": 200_000_000}
    plan = plan_for(local.endpoint(), "select 1;", **changes)
    frames, running = shared("ray:*2", plan, log, kill)
    (done,) = of_kind(Done, frames)
    (lost,) = (part for part in running.workers() if part.lost_at_s is not None)
    assert (done.end, done.reason) == ("aborted", f"worker {lost.name} was lost: {lost.why_lost}")
    wait_until(lambda: local.backends() == [], "the end of the load")
    wait_until(lambda: free(cluster), "the end of the agents")


@network_namespaces
def test_a_cluster_that_nobody_reaches_needs_no_token():
    """Of a host without any network, each address is one of loopback."""
    program = "from tests.fleet.test_ray import use_without_token; use_without_token()"
    apart = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
    ended = subprocess.run(
        [*apart, sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


def use_without_token() -> None:
    """Start a cluster without a token, and ask for an agent on it."""
    with known(RayCluster(1, has_token=False)):
        (found,) = examined(worker_list("ray:").places())
    assert found.problem == "", found.problem


def test_a_cluster_without_a_token_is_refused():
    with known(RayCluster(0, has_token=False)):
        found = examined(worker_list("ray:").places())[0].problem
        assert "asks for no token: whoever reaches its ports could run programs there" in found


@pytest.mark.parametrize("workers", ["ray:*2", "ray://127.0.0.1:{port}*2"])
def test_a_cluster_that_is_not_there_is_named(monkeypatch, workers):
    port = free_port()
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
    with pytest.raises(DbdynoError) as refused, begun(workers.format(port=port)):
        pass
    assert refused.value.message == f"no Ray cluster is at 127.0.0.1:{port}: Connection refused"


def test_ray_is_an_extra(monkeypatch):
    monkeypatch.setattr(ray_cluster, "find_spec", lambda _: None)
    with pytest.raises(DbdynoError) as refused, begun("ray:*2"):
        pass
    assert refused.value.hint == "pip install 'dbdyno[fleet]'"
