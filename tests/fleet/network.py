"""Hosts of a test: network namespaces, each with an address of its own on one bridge. For root."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.program import Program

# Leases of this and other test programs at the same time do not meet.
_SUBNET = f"10.77.{os.getpid() % 256}"
_OTHER = f"10.78.{os.getpid() % 256}"
LONG_WAY_S = 0.02


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

    def wall_off(self) -> None:
        """Let a firewall drop all that goes to it or comes from it, without a word to anybody."""
        for chain in ("INPUT", "OUTPUT"):
            subprocess.run([*self.inside, "iptables", "-I", chain, "-j", "DROP"], check=True)

    def open_up(self) -> None:
        """Take the firewall away."""
        subprocess.run([*self.inside, "iptables", "-F"], check=True)

    @contextlib.contextmanager
    def with_a_long_way_to(self, address: str, port: int, via: str) -> Iterator[None]:
        """Let what it sends to an address go a long way, to another address of the same server."""
        ip("-n", self.name, "addr", "add", f"{address}/32", "dev", "lo")
        program = [sys.executable, str(Path(__file__).with_name("delaying.py"))]
        words = [*self.inside, *program, address, str(port), via, str(LONG_WAY_S)]
        with Program(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "listening\n"
            yield
            process.kill()
        ip("-n", self.name, "addr", "del", f"{address}/32", "dev", "lo")

    @contextlib.contextmanager
    def slow_from(self, port: int, rate: str) -> Iterator[None]:
        """Let what it sends from a port have this rate, as ``tc`` writes it, during the block."""
        tc = (*self.inside, "tc")
        selected = ("protocol", "ip", "u32", "match", "ip", "sport", str(port), "0xffff")
        for words in (
            ("qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb"),
            ("class", "add", "dev", "eth0", "parent", "1:", "classid", "1:1", "htb", "rate", rate),
            ("filter", "add", "dev", "eth0", "parent", "1:", *selected, "flowid", "1:1"),
        ):
            subprocess.run([*tc, *words], check=True)
        try:
            yield
        finally:
            subprocess.run([*tc, "qdisc", "del", "dev", "eth0", "root"], check=True)

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
