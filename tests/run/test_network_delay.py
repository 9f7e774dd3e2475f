"""The proxy that makes round trips longer: what passes through it, and what it takes."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import UNSET

from dbdyno.errors import DbdynoError
from dbdyno.model.plan import Address, Endpoint, OdbcAddress, TcpAddress, UnixSocket
from dbdyno.run.network_delay.way import SlowWay, slow_way
from dbdyno.run.options.run_options import RunOptions
from tests.workloads.both_servers import command

MS = 1_000_000
HALF_MEGABYTE = 1 << 19


def endpoint(address: Address) -> Endpoint:
    return Endpoint(address=address, user="somebody", database="any")


@contextmanager
def server(tmp_path: Path, kind: str) -> Iterator[tuple[socket.socket, Address]]:
    if kind == "tcp":
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        address = Address(tcp=TcpAddress(host="localhost", port=port))
    else:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        address = Address(unix=UnixSocket(path=str(tmp_path / "s")))
    with listener:
        listener.settimeout(10)
        yield listener, address


def connected(address: Address) -> socket.socket:
    if address.tcp:
        return socket.create_connection((address.tcp.numeric, address.tcp.port), timeout=10)
    assert address.unix
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(10)
    sock.connect(address.unix.path)
    return sock


@pytest.fixture(params=["unix", "tcp"])
def ends(request, tmp_path) -> Iterator[tuple[SlowWay, socket.socket, socket.socket]]:
    """A way with a delay of 4 ms, and both ends of a connection on it."""
    with (
        server(tmp_path, request.param) as (listener, address),
        slow_way(RunOptions(network_delay_ns=4 * MS), endpoint(address)) as way,
    ):
        assert way
        with connected(way.to(endpoint(address)).address) as near:
            far, _ = listener.accept()
            far.settimeout(10)
            with far:
                yield way, near, far


def received(sock: socket.socket, count: int) -> bytes:
    parts = b""
    while len(parts) < count and (part := sock.recv(count)):
        parts += part
    return parts


def test_all_bytes_arrive_in_order_in_both_directions_at_once(ends):
    _, near, far = ends
    sent = {end: os.urandom(HALF_MEGABYTE) for end in (near, far)}
    senders = [threading.Thread(target=end.sendall, args=(data,)) for end, data in sent.items()]
    for sender in senders:
        sender.start()
    assert received(far, HALF_MEGABYTE) == sent[near]
    assert received(near, HALF_MEGABYTE) == sent[far]
    for sender in senders:
        sender.join()


def test_an_end_that_takes_nothing_holds_up_the_other_and_loses_nothing(ends):
    _, near, far = ends
    data = os.urandom(16 << 20)
    sender = threading.Thread(target=near.sendall, args=(data,))
    sender.start()
    sender.join(0.5)
    assert sender.is_alive()
    assert received(far, len(data)) == data
    sender.join()


@pytest.mark.parametrize("who", ["client", "server"])
def test_the_end_of_a_connection_is_passed_on_after_what_was_said(ends, who):
    _, near, far = ends
    one, other = (near, far) if who == "client" else (far, near)
    one.sendall(b"last words")
    one.close()
    assert received(other, 100) == b"last words"
    assert other.recv(1) == b""


def test_a_round_trip_takes_at_least_what_was_asked_for(ends):
    way, _, _ = ends
    with way.probed():
        while len(way.trips_ms) < 3:
            pass
    measured = way.record()
    assert measured
    assert measured.requested_ms == 4
    assert min(way.trips_ms) >= 4
    assert measured.p50_ms <= measured.p95_ms
    assert measured.count == len(way.trips_ms) >= 3


def test_a_delay_that_is_off_is_a_doubt():
    alone = socket.socketpair()
    way = SlowWay(Address(unix=UnixSocket(path="")), 2.0, *alone, proxy=None)
    assert way.doubts() == ["the network delay of 2\u202fms could not be measured"]
    way.trips_ms = [2.1, 2.2, 2.25]
    assert way.doubts() == []
    way.trips_ms = [2.1, 2.8, 9.0]
    assert way.doubts()[0].startswith("a round trip through the proxy took 2.8\u202fms (median")
    for sock in alone:
        sock.close()


def test_without_the_option_there_is_no_proxy():
    with slow_way(RunOptions(), endpoint(Address(unix=UnixSocket(path="")))) as way:
        assert way is None


@pytest.mark.parametrize("where", ["odbc", "several"])
def test_ways_without_a_proxy_are_refused(where):
    address = Address(odbc=OdbcAddress(attributes="DSN=x")) if where == "odbc" else UNSET
    unix = Address(unix=UnixSocket(path="/tmp/s"))
    more = [] if where == "odbc" else [unix]
    to = Endpoint(address=address or unix, further_addresses=more, user="u", database="d")
    with (
        pytest.raises(DbdynoError, match="--network-delay is not possible"),
        slow_way(RunOptions(network_delay_ns=MS), to),
    ):
        pass


@pytest.mark.parametrize("kind", ["postgres_server", "mariadb_server"])
def test_a_run_over_a_slow_way_takes_as_much_longer_and_says_so(request, tmp_path, kind):
    """Two statements one after the other are two round trips, on each server."""
    script = tmp_path / "two.sql"
    script.write_text("select 1;\nselect 2;\n")
    url = request.getfixturevalue(kind).url
    options = ("-c", "2", "-t", "20", "--warmup", "0", "--max-disturbance", "100%")
    way = ("--network-delay", "5ms")
    code, record = command("run", "-f", str(script), "--target", url, *options, *way)
    assert code == 0
    assert record["network_delay"]["requested_ms"] == 5
    assert record["network_delay"]["p50_ms"] >= 5
    assert record["response_ms"]["p50"] >= 10
    assert record["transactions"]["ok"] == 40
    code, record = command("run", "-f", str(script), "--target", url, *options)
    assert (code, record["network_delay"]) == (0, None)
