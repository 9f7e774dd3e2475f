"""A load far from its server: a separate network on this host, with a slow wire.

The load runs in its own network and process namespaces: it sees nothing of the server except
packets. Both ends are the kernel's own TCP; the wire between them consists of two tunnel devices,
and a thread that passes on each packet after its delay. Only PostgreSQL is reached in this way, at
an address on which it would not listen by default.
"""

import fcntl
import os
import select
import shlex
import shutil
import signal
import struct
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from dbdyno.databases.postgresql.server.binaries import find_binaries
from dbdyno.servers.base import Server
from dbdyno.servers.spec import ServerSpec

# Addresses reserved for measuring networks (RFC 2544), which nobody else has.
SERVER_END, LOAD_END = "198.18.0.1", "198.18.0.2"
_TUNSETIFF = 0x400454CA  # linux/if_tun.h
_TUNNEL, _BARE_PACKETS = 0x0001, 0x1000
_PACKET_BYTES_MAX = 65536
_LOOK_UP_S = 0.1


class Way(NamedTuple):
    """How a load reaches its server: the words before its program, and those for the target."""

    place: tuple[str, ...]
    target: tuple[str, ...]


def listening_spec(spec: ServerSpec, workplace: Path) -> ServerSpec:
    """Return the same server, which also listens at its end of the wire."""
    binaries = find_binaries(spec)
    folder = workplace / "listening"
    folder.mkdir()
    (folder / "initdb").symlink_to(binaries.installer)
    server = shlex.quote(str(binaries.server))
    program = folder / "postgres"
    program.write_text(f"""#!/bin/sh
case "$*" in
    *config_file=*) exec {server} "$@" -c listen_addresses='*' ;;
    *) exec {server} "$@" ;;
esac
""")
    program.chmod(0o755)
    return ServerSpec(spec.kind, path=folder, settings=spec.settings)


@contextmanager
def far_away(server: Server, round_trip_ms: float) -> Iterator[Way]:
    """Provide the way to the server over the wire while the block lasts."""
    _let_in(server)
    name = f"dyno{os.getpid()}"
    with _namespace(name), _wire(name, round_trip_ms / 2e3):
        apart = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
        tcp = server.endpoint().address.tcp
        assert tcp
        url = f"postgresql://postgres@{SERVER_END}:{tcp.port}/postgres"
        yield Way(("ip", "netns", "exec", name, *apart), ("--target", url))


def _let_in(server: Server) -> None:
    assert server.data_directory is not None
    assert server.process_id is not None
    with (server.data_directory / "pg_hba.conf").open("a") as rules:
        rules.write(f"host all all {LOAD_END}/32 trust\n")
    os.kill(server.process_id, signal.SIGHUP)


@contextmanager
def _namespace(name: str) -> Iterator[None]:
    _ip("netns", "add", name)
    try:
        yield
    finally:
        _ip("netns", "del", name)


@contextmanager
def _wire(namespace: str, delay_s: float) -> Iterator[None]:
    """Create the wire: one end here, the other in the namespace."""
    here, there = f"{namespace}h", f"{namespace}t"
    with ExitStack() as opened:
        ends = tuple(opened.enter_context(_tunnel(name)) for name in (here, there))
        _ip("link", "set", there, "netns", namespace)
        for place, device, own, other in (
            ((), here, SERVER_END, LOAD_END),
            (("-n", namespace), there, LOAD_END, SERVER_END),
        ):
            _ip(*place, "address", "add", own, "peer", other, "dev", device)
            _ip(*place, "link", "set", device, "up")
        over = threading.Event()
        thread = threading.Thread(target=_carry, args=(ends, delay_s, over))
        thread.start()
        opened.callback(thread.join)
        opened.callback(over.set)
        yield


@contextmanager
def _tunnel(name: str) -> Iterator[int]:
    """Open a tunnel device; it disappears when it is closed."""
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    try:
        wish = struct.pack("16sH22x", name.encode(), _TUNNEL | _BARE_PACKETS)
        fcntl.ioctl(end, _TUNSETIFF, wish)
        yield end
    finally:
        os.close(end)


def _carry(ends: tuple[int, int], delay_s: float, over: threading.Event) -> None:
    """Pass on each packet from one end to the other, in order and after its delay."""
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    under_way: deque[tuple[float, int, bytes]] = deque()
    while not over.is_set():
        pause_s = under_way[0][0] - time.monotonic() if under_way else _LOOK_UP_S
        readable, _, _ = select.select(ends, [], [], max(pause_s, 0.0))
        arrives_s = time.monotonic() + delay_s
        for end in readable:
            under_way.append((arrives_s, other[end], os.read(end, _PACKET_BYTES_MAX)))
        while under_way and under_way[0][0] <= time.monotonic():
            _, end, packet = under_way.popleft()
            os.write(end, packet)


def _ip(*arguments: str) -> None:
    assert shutil.which("ip"), "ip is not on the PATH: apt-get install iproute2"
    ended = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    assert not ended.returncode, f"ip {' '.join(arguments)}: {ended.stderr}"
