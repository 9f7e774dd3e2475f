"""A run over a slower network than there is: a proxy between load and server that takes its time.

The proxy is a process of its own (``proxy.py``). While the load runs, a byte is sent through
it again and again, so that the record has what a round trip really took, and not what was asked
for: a proxy that gets no CPU delays more.
"""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from msgspec.structs import replace

from dbdyno.errors import DbdynoError
from dbdyno.formatting import milliseconds
from dbdyno.model.plan import Address, Endpoint, TcpAddress, UnixSocket
from dbdyno.model.record import NetworkDelayRecord
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.placement import on_cpus
from dbdyno.run.plan import needs_proxy

PROGRAM = Path(__file__).parent / "proxy.py"
PRECISION_MS = 0.3
"""By so much a round trip may be longer: the proxy's own work, and that of the kernel."""
OFF_SHARE = 0.1
"""By such a share of itself, too."""
PROBE_EACH_S = 0.05
PROBE_PATIENCE_S = 10.0
END_PATIENCE_S = 5.0
LOOPBACK = "127.0.0.1"


@dataclass
class SlowWay:
    """The way of a load to its server through the proxy, and what a round trip on it took."""

    address: Address
    requested_ms: float
    near: socket.socket
    """Both ends of a connection through the proxy, on which nothing else is sent."""
    far: socket.socket
    proxy: "subprocess.Popen[bytes]"
    trips_ms: list[float] = field(default_factory=list)

    def to(self, endpoint: Endpoint) -> Endpoint:
        """Return the same endpoint by this way."""
        return replace(endpoint, address=self.address)

    def cut(self, span_ns: int, over: threading.Event) -> None:
        """Break all connections, and have no new ones for this time, or until it is over."""
        self._order({"cut_ns": span_ns})
        over.wait(span_ns / 1e9)

    def lead_to(self, endpoint: Endpoint) -> None:
        """Break all connections; new ones lead to this server, which stands for the first."""
        self._order({"to": _upstream(endpoint.address)})

    def _order(self, order: dict[str, object]) -> None:
        assert self.proxy.stdin
        self.proxy.stdin.write(f"{json.dumps(order)}\n".encode())
        self.proxy.stdin.flush()

    @contextmanager
    def probed(self) -> Iterator[None]:
        """Measure round trips while the block lasts."""
        over = threading.Event()
        probe = threading.Thread(target=self._probe, args=(over,), name="delay", daemon=True)
        probe.start()
        try:
            yield
        finally:
            over.set()
            probe.join(PROBE_PATIENCE_S)

    def _probe(self, over: threading.Event) -> None:
        with suppress(OSError):
            while not over.wait(PROBE_EACH_S):
                begin_ns = time.monotonic_ns()
                for one, other in ((self.near, self.far), (self.far, self.near)):
                    one.sendall(b".")
                    if not other.recv(1):
                        return  # the proxy is gone
                self.trips_ms.append((time.monotonic_ns() - begin_ns) / 1e6)

    def record(self) -> NetworkDelayRecord | None:
        """Return what was measured; None if nothing was."""
        if not self.trips_ms:
            return None
        p50, p95 = np.quantile(self.trips_ms, (0.5, 0.95)).tolist()
        return NetworkDelayRecord(
            requested_ms=self.requested_ms, p50_ms=p50, p95_ms=p95, count=len(self.trips_ms)
        )

    def doubts(self) -> list[str]:
        """Return by how much the delay was not the one that was asked for."""
        measured = self.record()
        asked = milliseconds(self.requested_ms)
        if measured is None:
            return [f"the network delay of {asked} could not be measured"]
        allowed_ms = self.requested_ms + max(OFF_SHARE * self.requested_ms, PRECISION_MS)
        if measured.p50_ms <= allowed_ms:
            return []
        return [
            f"a round trip through the proxy took {milliseconds(measured.p50_ms)} (median; 95th "
            f"percentile {milliseconds(measured.p95_ms)}), not the {asked} of --network-delay"
        ]


@contextmanager
def slow_way(options: RunOptions, endpoint: Endpoint) -> Iterator[SlowWay | None]:
    """Start the proxy, if the options ask for what it does, and end it after the block."""
    delay_ns = options.network_delay_ns or 0
    if options.network_delay_ns is None and not needs_proxy(options):
        yield None
        return
    if endpoint.address.odbc or endpoint.further_addresses:
        many = "several servers" if endpoint.further_addresses else "an ODBC driver"
        raise DbdynoError(
            "usage",
            f"--network-delay is not possible on the way to {many}",
            "Leave it out, or name one server by its address.",
        )
    with ExitStack() as stack:
        # Nobody else may enter: the server takes whoever comes through for us.
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="dbdyno-")))
        door, address = _door(folder, endpoint.address)
        probe, echo = _listening(folder / "probe"), _listening(folder / "echo")
        routes = [(door, _upstream(endpoint.address)), (probe, str(folder / "echo"))]
        with on_cpus(options.engine_cpus):
            process = _proxy(delay_ns // 2, routes)
        stack.callback(_end, process)
        near = stack.enter_context(socket.socket(socket.AF_UNIX))
        near.connect(str(folder / "probe"))
        echo.settimeout(PROBE_PATIENCE_S)
        far, _ = echo.accept()
        for end in (near, far):
            end.settimeout(PROBE_PATIENCE_S)
        for opened in (door, probe, echo, far):
            stack.callback(opened.close)
        yield SlowWay(address, delay_ns / 1e6, near, far, process)


def _door(folder: Path, address: Address) -> tuple[socket.socket, Address]:
    """Return where the proxy listens: as the server, on a Unix socket or a loopback address."""
    if address.tcp:
        door = socket.create_server((LOOPBACK, 0), backlog=1024)
        port = door.getsockname()[1]
        return door, Address(tcp=TcpAddress(host=address.tcp.host, port=port, numeric=LOOPBACK))
    assert address.unix
    path = folder / Path(address.unix.path).name  # by which libpq finds it
    return _listening(path), Address(unix=UnixSocket(path=str(path)))


def _upstream(address: Address) -> str | tuple[str, int]:
    """Return where the proxy connects to: a path, or a numeric address and a port."""
    if address.tcp:
        host = address.tcp.numeric or address.tcp.host
        found = socket.getaddrinfo(host, address.tcp.port, type=socket.SOCK_STREAM)
        return str(found[0][4][0]), address.tcp.port
    assert address.unix
    return address.unix.path


def _listening(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(1024)
    return listener


def _proxy(
    half_ns: int, routes: list[tuple[socket.socket, str | tuple[str, int]]]
) -> "subprocess.Popen[bytes]":
    numbers = [(listener.fileno(), to) for listener, to in routes]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", PROGRAM, json.dumps({"half_ns": half_ns, "routes": numbers})],
        stdin=subprocess.PIPE,
        pass_fds=[number for number, _ in numbers],
        start_new_session=True,
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Close its standard input, which ends it."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(END_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
