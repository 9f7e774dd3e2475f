"""Four nodes of a Ray cluster, each with a network of its own."""

import contextlib
import subprocess
from collections.abc import Iterator

import pytest

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.fleet.agents import Agent
from dbdyno.fleet.fleet import Fleet
from dbdyno.model.frame import Frame, Hello
from tests.engine.postgres import Postgres
from tests.fleet.hosts import Hosts, assert_as_of_one, losing_one
from tests.fleet.network import Host, Network, network
from tests.fleet.ray import RayCluster
from tests.fleet.test_fleet import kill_a_controller
from tests.fleet.test_ray import free, known
from tests.support.patience import wait_until
from tests.support.rights import network_namespaces

pytestmark = network_namespaces


class Nodes(Hosts):
    """Those of a cluster, whose head is here."""

    def __init__(self, network: Network, cluster: RayCluster, server: Postgres) -> None:
        super().__init__(network, server, "ray:*4")
        self.cluster = cluster


@pytest.fixture(scope="module")
def four() -> Iterator[Nodes]:
    with contextlib.ExitStack() as undo:
        net = undo.enter_context(network(4))
        cluster = undo.enter_context(known(RayCluster(0, host=net.here)))
        for host in net.hosts:
            cluster.add(*host.inside)
        access = "local all all trust\nhost all all 10.0.0.0/8 trust\n"
        server = Postgres(local_binaries()[0].folder, access, listen_addresses="*")
        undo.callback(server.remove)
        yield Nodes(net, cluster, server)


def host_of(agent: Agent, hosts: Nodes) -> Host:
    """Ray chooses which of them has an agent."""
    assert agent.greeting is not None
    asked = ["ip", "netns", "identify", str(agent.greeting.pid)]
    name = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    (found,) = (host for host in hosts.network.hosts if host.name == name)
    return found


def test_they_do_the_transactions_of_one_and_begin_together(four, log):
    used: set[Host] = set()

    def look(fleet: Fleet, frame: Frame) -> None:
        if isinstance(frame, Hello):
            used.update(host_of(agent, four) for agent in fleet.agents)

    parts = assert_as_of_one(four, log, look)
    assert [part.name for part in parts] == ["ray-1", "ray-2", "ray-3", "ray-4"]
    assert used == set(four.network.hosts)
    wait_until(lambda: free(four.cluster), "the end of the agents")


def test_nothing_outlives_a_killed_controller(four):
    kill_a_controller(four.server, four.workers, clients=8, threads=4, host=four.network.here)
    wait_until(lambda: free(four.cluster), "the end of the agents")


def test_one_whose_network_is_gone_is_lost_and_ends_its_load(four, log):
    """Ray may give up this node then: this is the last test that uses the cluster."""
    cut: list[Host] = []

    def act(fleet: Fleet) -> None:
        cut.append(host_of(fleet.agents[2], four))
        cut[0].cut()

    try:
        lost_after_s, why = losing_one(four, log, act, "continue")
    finally:
        for host in cut:
            host.mend()
    assert why == "nothing was heard of it"
    assert lost_after_s < 5  # of a busy host; Ray itself takes 15 s
    wait_until(lambda: four.server.backends() == [], "the end of what it had begun")
    wait_until(lambda: free(four.cluster), "the end of the agents")
