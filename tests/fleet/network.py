"""Hosts of a test: network namespaces, each with an address of its own on one bridge. For root."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

# Leases of this and other test programs at the same time do not meet.
_SUBNET = f"10.77.{os.getpid() % 256}"
_OTHER = f"10.78.{os.getpid() % 256}"


class Host(NamedTuple):
    """A namespace; also the name of its link on this host."""

    name: str
    address: str

    @property
    def inside(self) -> tuple[str, ...]:
        """What a command begins with to be run there."""
        return ("ip", "netns", "exec", self.name)

    def cut(self) -> None:
        """Take its network away."""
        ip("link", "set", self.name, "down")

    def mend(self) -> None:
        """Give its network back."""
        ip("link", "set", self.name, "up")

    @contextlib.contextmanager
    def without_a_way_to(self, address: str) -> Iterator[None]:
        """Let it have no route to an address during the block."""
        route = ("-n", self.name, "route")
        ip(*route, "add", "unreachable", f"{address}/32")
        yield
        ip(*route, "del", "unreachable", f"{address}/32")


class Network(NamedTuple):
    """This host, with two addresses, and the others."""

    here: str
    here_too: str
    hosts: list[Host]


def ip(*words: str) -> None:
    """Configure the network."""
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextlib.contextmanager
def network(count: int) -> Iterator[Network]:
    """A network of this host and so many others, for the duration of the block."""
    bridge = f"dyno{os.getpid()}b"
    found = Network(
        f"{_SUBNET}.1",
        f"{_OTHER}.1",
        [Host(f"dyno{os.getpid()}-{n}", f"{_SUBNET}.{n + 10}") for n in range(1, count + 1)],
    )
    with contextlib.ExitStack() as undo:
        ip("link", "add", bridge, "type", "bridge")
        undo.callback(ip, "link", "del", bridge)
        for address in (found.here, found.here_too):
            ip("addr", "add", f"{address}/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        for host in found.hosts:
            ip("netns", "add", host.name)
            undo.callback(ip, "netns", "del", host.name)
            ip("link", "add", host.name, "type", "veth", "peer", "name", "eth0", "netns", host.name)
            undo.callback(ip, "link", "del", host.name)
            ip("link", "set", host.name, "master", bridge, "up")
            ip("-n", host.name, "addr", "add", f"{host.address}/24", "dev", "eth0")
            ip("-n", host.name, "link", "set", "eth0", "up")
            ip("-n", host.name, "link", "set", "lo", "up")
            ip("-n", host.name, "route", "add", "default", "via", found.here)
        yield found
